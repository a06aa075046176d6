import { commandLineError } from '../../framework/error.ts';

type MinVersion = 'TLSv1.2' | 'TLSv1.3';

/**
 * By the names of Node and of the reference picker. HTTP/2 needs at least 1.2: older ones are 1.2.
 */
const VERSIONS: Readonly<Record<string, MinVersion>> = {
  '1.2': 'TLSv1.2',
  '1.3': 'TLSv1.3',
  VersionTLS10: 'TLSv1.2',
  VersionTLS11: 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

const TLS13_SUITES = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];
/** Suites of TLS 1.2 that HTTP/2 allows, by their standard names, with OpenSSL's. */
const TLS12_SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
};
/** Names that Go also has for two of them. */
const ALIASES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
};

/** The value of `--tls-min-version`; empty, as for the reference, is the default. */
export function minVersionOf(text: string | undefined): MinVersion | undefined {
  if (text === undefined || text === '') return undefined;
  const version = VERSIONS[text];
  if (version !== undefined) return version;
  const all = Object.keys(VERSIONS).join(', ');
  throw commandLineError('--tls-min-version', `is ${text}: it must be one of ${all}`);
}

/** Suites that Go has and HTTP/2 does not allow: a list may have them, and they are not offered. */
const NOT_HTTP2 =
  /^TLS_(?:ECDHE_)?(?:RSA|ECDSA)_WITH_(?:RC4_128_SHA|3DES_EDE_CBC_SHA|AES_(?:128|256)_(?:CBC_SHA(?:256)?|GCM_SHA(?:256|384)))$/;

/**
 * The value of `--tls-cipher-suites`, standard names separated by commas, as OpenSSL's list. As for
 * the reference, names of TLS 1.2 leave TLS 1.3 as it is.
 */
export function ciphersOf(text: string | undefined): string | undefined {
  const names = (text ?? '').split(',').map((name) => name.trim());
  const given = names.filter((name) => name !== '');
  if (given.length === 0) return undefined;
  const wrong = given.find((name) => !isKnown(ALIASES[name] ?? name));
  if (wrong !== undefined) {
    const all = [...Object.keys(TLS12_SUITES), ...TLS13_SUITES].join(', ');
    throw commandLineError('--tls-cipher-suites', `has ${wrong}: HTTP/2 and Node offer ${all}`);
  }
  const tls13 = given.filter((name) => TLS13_SUITES.includes(name));
  const tls12 = given.flatMap((name) => TLS12_SUITES[ALIASES[name] ?? name] ?? []);
  return [...(tls13.length > 0 ? tls13 : TLS13_SUITES), ...tls12].join(':');
}

function isKnown(name: string): boolean {
  return TLS13_SUITES.includes(name) || Object.hasOwn(TLS12_SUITES, name) || NOT_HTTP2.test(name);
}
