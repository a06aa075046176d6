import type { Clock, Millis, Random, ResolvedName } from '../../../src/framework/runtime.ts';

type Manner = 'answers' | 'fails' | 'has no address' | 'is silent';

interface Zone {
  manner: Manner;
  addresses: readonly string[];
  ttlMs: Millis | undefined;
  /** When an answer had an address last. */
  readonly answered: Map<string, Millis>;
  /** Until when an answer with an address counts. */
  goodUntil: Millis;
}

const TTLS_MS = [0, 1000, 5000, 30_000, 86_400_000, undefined];
/** The longest that an answer counts, and that of one without a time. */
const TTL_MS_MAX = 300_000;
const MANY = 1500;

/** A name service whose answers change, fail, come late or never, and may have 1,500 addresses. */
export class NameServer {
  asked = 0;
  readonly #clock: Clock & { readonly at: Millis };
  readonly #random: Random;
  readonly #zones = new Map<string, Zone>();
  #isCalm = false;

  constructor(clock: Clock & { readonly at: Millis }, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  readonly resolve = (name: string): Promise<ResolvedName> => {
    this.asked += 1;
    const zone = this.#zone(name);
    if (!this.#isCalm && this.#random.next() < 0.01) throw new Error('out of file descriptors');
    return new Promise((resolve, reject) => {
      const { manner } = zone;
      const delayMs =
        manner === 'is silent' ? 400_000 * this.#random.next() : 100 * this.#random.next();
      this.#clock.setTimer(delayMs, () => {
        if (manner === 'fails') reject(new Error('queryA ESERVFAIL'));
        else if (manner === 'is silent') reject(new Error('queryA ETIMEOUT'));
        else resolve(this.#answer(zone));
      });
    });
  };

  /** What its answers say from now on. */
  change(name: string): void {
    const zone = this.#zone(name);
    const chance = this.#random.next();
    if (chance < 0.2) zone.manner = 'fails';
    else if (chance < 0.25) zone.manner = 'is silent';
    else if (chance < 0.35) zone.manner = 'has no address';
    else {
      zone.manner = 'answers';
      zone.addresses = this.#drawAddresses(name);
      zone.ttlMs = TTLS_MS[Math.floor(TTLS_MS.length * this.#random.next())];
    }
  }

  /** Every name has an answer from now on, also those that were asked for in silence. */
  calm(): void {
    this.#isCalm = true;
    for (const [name, zone] of this.#zones) {
      if (zone.manner !== 'answers') zone.addresses = this.#drawAddresses(name);
      Object.assign(zone, { manner: 'answers', ttlMs: 1000 });
    }
  }

  addresses(name: string): readonly string[] {
    return [...this.#zone(name).addresses].toSorted().slice(0, 1024);
  }

  answeredAt(name: string, address: string): Millis | undefined {
    return this.#zone(name).answered.get(address);
  }

  /** Until when its last answers with an address count. */
  goodUntil(name: string): Millis {
    return this.#zone(name).goodUntil;
  }

  #answer(zone: Zone): ResolvedName {
    const addresses = zone.manner === 'has no address' ? [] : zone.addresses;
    const { ttlMs } = zone;
    if (addresses.length > 0) {
      const at = this.#clock.at;
      for (const each of addresses) zone.answered.set(each, at);
      zone.goodUntil = Math.max(zone.goodUntil, at + Math.min(TTL_MS_MAX, ttlMs ?? 10_000));
    }
    return { addresses, ttlMs };
  }

  #drawAddresses(name: string): readonly string[] {
    if (name === 'huge.example' && this.#random.next() < 0.1)
      return Array.from({ length: MANY }, (_, at) => `10.1.${at >> 8}.${at & 255}`);
    const count = 1 + Math.floor(4 * this.#random.next());
    // Few of them, so that names share some.
    const kind = this.#random.next() < 0.8 ? '10.0.0.' : 'fd00::';
    return Array.from({ length: count }, () => `${kind}${1 + Math.floor(6 * this.#random.next())}`);
  }

  #zone(name: string): Zone {
    let zone = this.#zones.get(name);
    if (zone === undefined) {
      const addresses = this.#drawAddresses(name);
      zone = { manner: 'answers', addresses, ttlMs: 1000, answered: new Map(), goodUntil: 0 };
      this.#zones.set(name, zone);
    }
    return zone;
  }
}
