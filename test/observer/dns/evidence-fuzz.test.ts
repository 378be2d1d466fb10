import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DnsRecord } from '../../../src/model/dns-record.js';
import type { DnsAnswer } from '../../../src/observer/verdict.js';
import {
  addedIn,
  answerTo,
  look,
  observe,
  presentIn,
  record,
  removedIn,
  toText,
} from '../../support/dns-evidence.js';
import { uint16 } from '../../support/dns-octets.js';
import { goodReply, NAMES, replies, TYPE_NUMBERS } from '../../support/dns-replies.js';
import { repeats } from '../../support/long-form.js';
import { judge, NO_EVIDENCE, type Verdict } from './evidence-judge.js';

/** `npm test` sends some; EVIDENCE_CHECKS=500000 sends more. */
const CHECKS = Number(process.env['EVIDENCE_CHECKS'] ?? repeats(50_000, 1000));

const textOf = (records: readonly DnsRecord[]) => [...new Set(records.map(toText))].sort().join('; ');

/** An answer as the judge sees it. What is malformed is malformed for both, wherever that shows. */
function asVerdict(answer: DnsAnswer): string {
  const { aliases = [] } = answer;
  if (answer.kind === 'answered') {
    return `${answer.nameExists} ${textOf(answer.records)} ${textOf(aliases)}`;
  }
  return answer.failure.code === 'malformed' ? 'none' : `none ${textOf(aliases)}`;
}

function asText({ kind, nameExists, records, aliases }: Verdict): string {
  if (kind === 'evidence') return `${nameExists} ${textOf(records)} ${textOf(aliases)}`;
  return `none ${textOf(kind === 'none' ? [] : aliases)}`;
}

const isLink = (text: string) => / (CNAME|DNAME) /.test(text);
const ownerOf = (text: string) => text.split(' ', 2).join(' ');

/** What a reply shows: what it proves, and the links of its chain. */
const shownBy = ({ aliases, records }: Verdict) => [...aliases, ...records].map(toText);

/**
 * Whether a record is gone: its type has none any more. A link is where a chain shows another one of its owner, where
 * a chain comes to its end without it, or where the question for CNAME says that there is none at all.
 */
function isGone(text: string, verdicts: ReadonlyMap<string, Verdict>): boolean {
  const [, type = ''] = text.split(' ');
  if (!isLink(text)) return verdicts.get(type)?.kind === 'evidence';
  const counted = [...verdicts].filter(([, { kind }]) => kind !== 'none');
  const shown = counted.flatMap(([, verdict]) => shownBy(verdict)).filter(isLink);
  if (shown.includes(text)) return false;
  if (shown.some((one) => ownerOf(one) === ownerOf(text))) return true;
  return counted.some(([asked, verdict]) => {
    if (verdict.kind !== 'evidence') return false;
    if (asked === 'CNAME') return !shown.some((one) => one.includes(' CNAME '));
    return verdict.aliases.length > 0 || verdict.records.length > 0;
  });
}

test(
  'replies that are nearly right remove nothing, unless a plain judge says that they prove it, and add nothing that it does not see',
  async () => {
    const tally = { evidence: 0, none: 0, removed: 0, added: 0, aliases: 0 };
    const known = new Map(
      await Promise.all(NAMES.map(async (name) => [name, await look(null, name, goodReply)] as const)),
    );
    const all = fc.tuple(...[...TYPE_NUMBERS].map((type) => fc.tuple(fc.constant(type), replies)));
    const check = fc.asyncProperty(fc.constantFrom(...NAMES), all, async (name, asked) => {
      const answers = new Map<string, DnsAnswer>();
      const verdicts = new Map<string, Verdict>();
      for (const [[type, number], reply] of asked) {
        let octets: Buffer = Buffer.of();
        const answer = answerTo(name, type, (question) => {
          octets = reply(question);
          return octets;
        });
        const isMalformed = answer.kind === 'failed' && answer.failure.code === 'malformed';
        const verdict: Verdict = isMalformed
          ? NO_EVIDENCE
          : judge(name, number, Buffer.concat([uint16(0), octets]));
        expect(asVerdict(answer), `${type} ${octets.toString('hex')}`).toBe(
          isMalformed ? 'none' : asText(verdict),
        );
        tally[verdict.kind === 'evidence' ? 'evidence' : 'none'] += 1;
        answers.set(type, answer);
        verdicts.set(type, verdict);
      }
      const progress = record(known.get(name) ?? null, await observe(name, answers));
      const [added, removed, present] = [addedIn(progress), removedIn(progress), presentIn(progress)];
      const shown = [...verdicts.values()].flatMap(shownBy);
      const counted = [...verdicts.values()].filter(({ kind }) => kind !== 'none');
      const links = counted.flatMap(({ aliases }) => aliases).map(toText);
      const wrong = {
        added: added.filter((text) => !shown.includes(text)),
        removed: removed.filter((text) => !isGone(text, verdicts)),
        missing: links.filter((text) => !present.includes(text)),
      };
      expect(wrong).toEqual({ added: [], removed: [], missing: [] });
      tally.removed += removed.length;
      tally.added += added.length;
      tally.aliases += links.length;
    });
    await fc.assert(check, { numRuns: CHECKS });
    expect(Math.min(...Object.values(tally)), JSON.stringify(tally)).toBeGreaterThan(CHECKS / 100);
  },
  60_000 + CHECKS * 20,
);
