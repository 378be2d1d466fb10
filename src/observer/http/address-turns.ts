import { isIPv6 } from 'node:net';
import { canonicalIpv6 } from '../../model/ip-address.js';
import type { StopSwitch } from './stop-switch.js';

interface Place {
  active: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
}

/** Bounds the connections to one address at a time, over all domains that it serves. */
export class AddressTurns {
  readonly #places = new Map<string, Place>();
  readonly #limit: number;

  /** @param limit How many may have their turn at one address at once. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Waits for a turn, for as long as it takes.
   *
   * @returns What gives the turn back, to be called once; undefined if the observation was stopped first.
   */
  take(address: string, stop: StopSwitch): Promise<(() => void) | undefined> {
    if (stop.stopped) return Promise.resolve(undefined);
    const key = oneAddress(address);
    const place = this.#places.get(key) ?? { active: 0, waiting: new Set() };
    this.#places.set(key, place);
    const release = () => this.#release(key, place);
    if (place.active < this.#limit) {
      place.active += 1;
      return Promise.resolve(release);
    }
    return new Promise((resolve) => {
      const enter = (): void => {
        stop.listener = undefined;
        resolve(release);
      };
      place.waiting.add(enter);
      stop.listener = () => {
        place.waiting.delete(enter);
        resolve(undefined);
      };
    });
  }

  #release(key: string, place: Place): void {
    const [next] = place.waiting;
    if (next !== undefined) {
      place.waiting.delete(next);
      next();
      return;
    }
    place.active -= 1;
    if (place.active === 0) this.#places.delete(key);
  }
}

/** One text for each address: an IPv4-mapped one leads to the same machine as its IPv4 address. */
function oneAddress(address: string): string {
  return isIPv6(address) && !address.includes('%')
    ? canonicalIpv6(address).replace(/^::ffff:(?=.*\.)/, '')
    : address;
}
