/**
 * Domains as the internet has them, for the time of a simulation: what each would show at any moment, and what of it matters.
 */

import { Random } from './random.js';

/**
 * An RRset or a header field: what it shows at a moment, in hours. Of a field it is one value, or none.
 *
 * @typedef {object} Subject
 * @property {string} cause of its changes that do not matter
 * @property {string} type of an RRset; a field's name in lower case
 * @property {boolean} isField
 * @property {(hour: number) => readonly string[]} at
 *
 * @typedef {object} Happening what somebody wants to know
 * @property {number} hour
 * @property {string} kind
 * @property {ReadonlySet<Subject>} of
 *
 * @typedef {object} Domain
 * @property {readonly Subject[]} subjects
 * @property {readonly Happening[]} happenings
 * @property {(hour: number) => number} status of its site's response
 * @property {(hour: number) => boolean} answers whether anything is observed at all
 */

/** @param {number} seed @param {number} hours @returns {Domain} */
export function domainOf(seed, hours) {
  const random = new Random(seed);
  /** @type {Happening[]} */
  const happenings = [];
  /** @type {Subject[]} */
  const subjects = [];
  /** Times at which each subject has another content: at most one for about three weeks. @param {number} share */
  const moments = (share) => (random.chance(share) ? [random.integer(96, hours - 48)] : []);

  /**
   * A subject with a content for each of the times between its happenings.
   *
   * @param {Omit<Subject, 'at'>} subject
   * @param {number} share of such subjects to which something happens
   * @param {(version: number) => (hour: number) => readonly string[]} contentOf
   */
  const add = (subject, share, contentOf) => {
    const times = moments(share);
    const contents = Array.from({ length: times.length + 1 }, (_, version) => contentOf(version));
    const added = {
      ...subject,
      at: (/** @type {number} */ hour) => contents[times.filter((time) => time <= hour).length]?.(hour) ?? [],
    };
    subjects.push(added);
    for (const hour of times) happenings.push({ hour, kind: subject.type, of: new Set([added]) });
    return added;
  };
  /** @param {string} type @param {number} share @param {(version: number) => readonly string[]} contentOf */
  const set = (type, share, contentOf) =>
    add({ cause: 'none', type, isField: false }, share, (version) => {
      const content = contentOf(version);
      return () => content;
    });
  /** @param {string} name @param {number} share @param {(version: number) => string | undefined} contentOf */
  const field = (name, share, contentOf) =>
    add({ cause: 'none', type: name, isField: true }, share, (version) => {
      const content = contentOf(version);
      return () => (content === undefined ? [] : [content]);
    });
  const address = () =>
    `${random.integer(1, 223)}.${random.integer(0, 255)}.${random.integer(0, 255)}.${random.integer(1, 254)}`;
  const name = () => `${random.token(6).toLowerCase()}.example.`;
  /** The same for a whole slot of time. @param {number} hour @param {number} length @param {number} salt */
  const inSlot = (hour, length, salt) => new Random(seed * 7919 + Math.floor(hour / length) * 104_729 + salt);

  set('NS', 0.06, () => random.some([name(), name(), name(), name()], 2));
  set('MX', 0.08, () => [`10 ${name()}`, `20 ${name()}`]);
  set('TXT', 0.1, (version) => [
    `"v=spf1 include:${name()} -all"`,
    `"verification=${random.token(20)}${version}"`,
  ]);
  if (random.chance(0.2)) set('CAA', 0.05, () => [`0 issue "${name()}"`]);
  if (random.chance(0.15))
    set('DNSKEY', 0.25, () => [`257 3 13 ${random.token(40)}`, `256 3 13 ${random.token(40)}`]);
  const slot = random.pick([1, 4, 12, 24, 24, 24, 168]);
  add({ cause: 'SOA serial', type: 'SOA', isField: false }, 0.02, () => {
    const primary = name();
    const serial = random.integer(1, 2_000_000);
    return (hour) => [`{"mname":"${primary}","serial":${serial + Math.floor(hour / slot)}}`];
  });
  addAddresses();
  addSite();
  return { subjects, happenings, ...outages() };

  function addAddresses() {
    const kind = random.next();
    if (kind < 0.12) addPool();
    else if (kind < 0.2) {
      // Another answer for where it is asked from, or of one balancer of a few.
      const sets = Array.from({ length: random.integer(2, 4) }, () => [address(), address()]);
      const every = random.pick([0.1, 2, 6, 12]);
      add(
        { cause: 'rotating addresses', type: 'A', isField: false },
        0,
        () => (hour) => inSlot(hour, every, 2).pick(sets),
      );
    } else {
      set('A', 0.1, () => Array.from({ length: random.integer(1, 3) }, address));
      if (random.chance(0.5)) set('AAAA', 0.06, () => [`2001:db8::${random.token(4).toLowerCase()}`]);
    }
    if (random.chance(0.15)) {
      // Targets of a network for content that alternate for hours.
      add({ cause: 'alternating targets', type: 'CNAME', isField: false }, 0.1, () => {
        const targets = [name(), name(), name()].slice(0, random.integer(2, 3));
        const every = random.pick([1, 3, 9, 20]);
        return (hour) => [inSlot(hour, every, 3).pick(targets)];
      });
    } else set('CNAME', 0.05, () => [name()]);
  }

  /** A pool of which each answer has some: others each time, or for an hour and more. */
  function addPool() {
    const size = random.integer(4, 40);
    const shown = random.integer(1, Math.max(1, Math.min(8, size >> 1)));
    const every = random.pick([0.1, 0.1, 1, 3, 8]);
    const pool = Array.from({ length: size }, address);
    const foreign = moments(0.3);
    const a = add({ cause: 'rotating addresses', type: 'A', isField: false }, 0, () => (hour) => {
      const found = inSlot(hour, every, 1).some(pool, shown);
      const isForeign = foreign.some((time) => hour >= time && hour < time + 30);
      return isForeign ? [`203.0.113.${(seed % 250) + 1}`, ...found.slice(1)] : found;
    });
    for (const hour of foreign)
      happenings.push({ hour, kind: 'a foreign address in a pool', of: new Set([a]) });
    if (!random.chance(0.4)) return;
    add({ cause: 'address hints', type: 'HTTPS', isField: false }, 0.05, (version) => {
      const alpn = version % 2 === 0 ? 'h2' : 'h3,h2';
      return (hour) => [`1 . alpn=${alpn} ipv4hint=${inSlot(hour, every, 1).some(pool, shown).join(',')}`];
    });
  }

  function addSite() {
    field('server', 0.12, (version) => `nginx/1.${20 + version}.${random.integer(0, 9)}`);
    field('strict-transport-security', 0.08, (version) => (version === 0 ? 'max-age=31536000' : undefined));
    field('x-frame-options', 0.06, (version) => (version === 0 ? 'DENY' : undefined));
    field('x-powered-by', 0.06, (version) => (version === 0 ? undefined : 'PHP/8.3.1'));
    const edited = random.pick([0.1, 2, 24, 24, 72, 400]);
    for (const validator of ['etag', 'last-modified', 'content-length']) {
      if (random.chance(0.4)) continue;
      add({ cause: validator, type: validator, isField: true }, 0, () => (hour) => [
        `${validator} ${inSlot(hour, edited, 4).integer(1, 1e9)}`,
      ]);
    }
    if (random.chance(0.1)) {
      add({ cause: 'nonces', type: 'content-security-policy', isField: true }, 0.2, () => {
        const source = name();
        return (hour) => [`script-src 'nonce-${inSlot(hour, 0.01, 5).token(22)}' https://${source}`];
      });
    } else field('content-security-policy', 0.08, () => `default-src 'self' https://${name()}`);
    if (random.chance(0.1)) {
      const backends = Array.from({ length: random.integer(2, 12) }, (_, at) => `web-${at}`);
      add({ cause: 'backends', type: 'x-served-by', isField: true }, 0, () => (hour) => [
        inSlot(hour, 0.01, 6).pick(backends),
      ]);
    }
    if (random.chance(0.05)) {
      add({ cause: 'run times', type: 'x-runtime', isField: true }, 0, () => (hour) => [
        `0.${inSlot(hour, 0.01, 7).integer(1, 999_999)}`,
      ]);
    }
    if (random.chance(0.06)) {
      add(
        { cause: 'tests of two versions', type: 'x-variant', isField: true },
        0,
        () => (hour) => (inSlot(hour, 0.01, 8).chance(0.5) ? ['a'] : []),
      );
    }
  }

  /** What is not there for a while, and an end: a domain that expires shows the pages of its registrar. */
  function outages() {
    const maintained = random.chance(0.3)
      ? Array.from({ length: random.integer(1, 4) }, () => random.integer(24, hours))
      : [];
    const silent = moments(0.2);
    const [expired] = moments(0.03);
    if (expired !== undefined) {
      const parked = {
        NS: ['ns1.parking.example.', 'ns2.parking.example.'],
        A: ['198.51.100.9'],
        server: ['parking'],
      };
      for (const subject of subjects) {
        const before = subject.at;
        const after = Object.entries(parked).find(([type]) => type === subject.type)?.[1] ?? [];
        subject.at = (hour) => (hour < expired ? before(hour) : after);
      }
      const telling = subjects.filter(({ cause }) => cause === 'none' || cause.startsWith('rotating'));
      happenings.push({ hour: expired, kind: 'expiry', of: new Set(telling) });
    }
    const isMaintained = (/** @type {number} */ hour) =>
      maintained.some((time) => hour >= time && hour < time + 3 + (time % 5));
    return {
      status: (/** @type {number} */ hour) => (isMaintained(hour) ? 503 : 200),
      answers: (/** @type {number} */ hour) => !silent.some((time) => hour >= time && hour < time + 20),
    };
  }
}
