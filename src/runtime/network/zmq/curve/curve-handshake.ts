import { randomBytes, timingSafeEqual } from 'node:crypto';
import { boxKey, type CurvePair, newPair, open, seal } from './curve-box.ts';
import { type CurveKeys, type CurveSide } from './curve-keys.ts';
import { Nonces } from './nonces.ts';

/** What both sides have agreed on. */
export interface CurveAgreed {
  readonly key: Uint8Array;
  readonly nonces: Nonces;
  readonly side: CurveSide;
}

/** One step: what to send, if anything, and what was agreed on, at the last one. */
export interface CurveStep {
  readonly send?: Uint8Array;
  readonly agreed?: CurveAgreed;
}

/** One side of a CURVE handshake (https://rfc.zeromq.org/spec/26/). Throws at what it must not get. */
export interface CurveHandshake {
  /** The first command to send; undefined where the other side begins. */
  begin(): Uint8Array | undefined;
  /** The next command of the other side. */
  take(name: string, data: Uint8Array): CurveStep;
}

const VERSION: Buffer = Buffer.from([1, 0]);
const HELLO_BYTES = 194;
const WELCOME_BYTES = 160;
const COOKIE_BYTES = 96;
const VOUCH_BYTES = 96;
const INITIATE_BYTES_MIN: number = COOKIE_BYTES + 8 + 16 + 32 + VOUCH_BYTES;

/** The side that connects. It knows the server's key and accepts no other. */
export class CurveClient implements CurveHandshake {
  readonly #keys: CurveKeys & { readonly side: 'client' };
  readonly #metadata: Uint8Array;
  readonly #own: CurvePair = newPair();
  readonly #nonces = new Nonces();
  #key: Uint8Array | undefined;
  #welcomed = false;

  constructor(keys: CurveKeys & { readonly side: 'client' }, metadata: Uint8Array) {
    this.#keys = keys;
    this.#metadata = metadata;
  }

  begin(): Uint8Array {
    const nonce = this.#nonces.next();
    const key = boxKey(this.#own.secretKey, this.#keys.serverKey);
    const box = seal(key, named('CurveZMQHELLO---', nonce), Buffer.alloc(64));
    const hello = [VERSION, Buffer.alloc(72), this.#own.publicKey, nonce, box];
    return command('HELLO', ...hello);
  }

  take(name: string, data: Uint8Array): CurveStep {
    if (name === 'WELCOME' && !this.#welcomed) return { send: this.#initiate(data) };
    if (name === 'READY' && this.#key !== undefined)
      return { agreed: this.#ready(data, this.#key) };
    throw new Error(`it sends ${JSON.stringify(name)} where CURVE has another command`);
  }

  #initiate(welcome: Uint8Array): Uint8Array {
    expectLength('WELCOME', welcome, WELCOME_BYTES);
    this.#welcomed = true;
    const { serverKey, pair } = this.#keys;
    const toServer = boxKey(this.#own.secretKey, serverKey);
    const text = open(toServer, named('WELCOME-', welcome.subarray(0, 16)), welcome.subarray(16));
    const [shortKey, cookie] = [text.subarray(0, 32), text.subarray(32)];
    this.#key = boxKey(this.#own.secretKey, shortKey);
    const vouchNonce = randomBytes(16);
    const vouched = Buffer.concat([this.#own.publicKey, serverKey]);
    const vouchKey = boxKey(pair.secretKey, shortKey);
    const vouch = seal(vouchKey, named('VOUCH---', vouchNonce), vouched);
    const nonce = this.#nonces.next();
    const inner = Buffer.concat([pair.publicKey, vouchNonce, vouch, this.#metadata]);
    const box = seal(this.#key, named('CurveZMQINITIATE', nonce), inner);
    return command('INITIATE', cookie, nonce, box);
  }

  #ready(data: Uint8Array, key: Uint8Array): CurveAgreed {
    const nonce = this.#nonces.taken(data.subarray(0, 8));
    open(key, named('CurveZMQREADY---', nonce), data.subarray(8));
    return { key, nonces: this.#nonces, side: 'client' };
  }
}

/** The side that listens. Every client that knows its public key may connect. */
export class CurveServer implements CurveHandshake {
  readonly #own: CurvePair;
  readonly #metadata: Uint8Array;
  readonly #short: CurvePair = newPair();
  readonly #nonces = new Nonces();
  readonly #cookie: Buffer = randomBytes(COOKIE_BYTES);
  /** Undefined before its HELLO. */
  #clientKey: Uint8Array | undefined;

  constructor({ pair }: CurveKeys, metadata: Uint8Array) {
    this.#own = pair;
    this.#metadata = metadata;
  }

  begin(): undefined {}

  take(name: string, data: Uint8Array): CurveStep {
    if (name === 'HELLO' && this.#clientKey === undefined) return { send: this.#welcome(data) };
    if (name === 'INITIATE' && this.#clientKey !== undefined) {
      return this.#ready(data, this.#clientKey);
    }
    throw new Error(`it sends ${JSON.stringify(name)} where CURVE has another command`);
  }

  #welcome(hello: Uint8Array): Uint8Array {
    expectLength('HELLO', hello, HELLO_BYTES);
    if (hello[0] !== 1) throw new Error(`it speaks version ${hello[0]} of CURVE, not 1`);
    const clientKey = Buffer.from(hello.subarray(74, 106));
    const nonce = this.#nonces.taken(hello.subarray(106, 114));
    const key = boxKey(this.#own.secretKey, clientKey);
    open(key, named('CurveZMQHELLO---', nonce), hello.subarray(114));
    this.#clientKey = clientKey;
    const long = randomBytes(16);
    const inner = Buffer.concat([this.#short.publicKey, this.#cookie]);
    return command('WELCOME', long, seal(key, named('WELCOME-', long), inner));
  }

  #ready(initiate: Uint8Array, clientKey: Uint8Array): CurveStep {
    if (initiate.length < INITIATE_BYTES_MIN)
      throw new Error('its INITIATE is too short for CURVE');
    const sealed = initiate.subarray(COOKIE_BYTES);
    if (!timingSafeEqual(initiate.subarray(0, COOKIE_BYTES), this.#cookie)) {
      throw new Error('its INITIATE has another cookie than we sent');
    }
    const key = boxKey(this.#short.secretKey, clientKey);
    const nonce = this.#nonces.taken(sealed.subarray(0, 8));
    const text = open(key, named('CurveZMQINITIATE', nonce), sealed.subarray(8));
    const vouchKey = boxKey(this.#short.secretKey, text.subarray(0, 32));
    const vouchNonce = named('VOUCH---', text.subarray(32, 48));
    const vouched = open(vouchKey, vouchNonce, text.subarray(48, 48 + 80));
    if (!timingSafeEqual(vouched, Buffer.concat([clientKey, this.#own.publicKey]))) {
      throw new Error('its INITIATE is sealed for other keys');
    }
    const own = this.#nonces.next();
    const box = seal(key, named('CurveZMQREADY---', own), this.#metadata);
    const agreed: CurveAgreed = { key, nonces: this.#nonces, side: 'server' };
    return { send: command('READY', own, box), agreed };
  }
}

function expectLength(name: string, { length }: Uint8Array, bytes: number): void {
  if (length !== bytes)
    throw new Error(`its ${name} has ${length} bytes, not the ${bytes} of CURVE`);
}

function named(name: string, nonce: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(name), nonce]);
}

function command(name: string, ...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), ...parts]);
}
