import type { CollectionTag, ScalarTag } from 'yaml';

const INT = 'tag:yaml.org,2002:int';
const FLOAT = 'tag:yaml.org,2002:float';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Numbers of JSON that Go reads as `int` have 64 bits; their largest is this or rounded to it. */
const INT64_END = 2n ** 63n;
/** The largest number below 2^63. */
const BELOW_INT64_END = 2 ** 63 - 1024;

/**
 * Scalars that YAML 1.1 reads in another way than YAML 1.2. Kubernetes reads its files, and so the
 * reference picker its configuration, as Go's reader of YAML 1.1 does: `on` is true, `010` is 8. It
 * makes JSON of them, which has no other types than numbers, texts, true and false.
 */
export const YAML_1_1_SCALARS: readonly (ScalarTag | CollectionTag)[] = [
  bool(/^(?:[yY]|[yY]es|YES|[oO]n|ON)$/, true),
  bool(/^(?:[nN]|[nN]o|NO|[oO]ff|OFF)$/, false),
  whole(/^[-+]?0[bB][01_]+$/, '0b'),
  whole(/^[-+]?0_*[oO]?_*[0-7][0-7_]*$/, '0o'),
  whole(/^[-+]?0[xX][0-9a-fA-F_]+$/, '0x'),
  whole(/^[-+]?[1-9][0-9_]*$/, ''),
  {
    default: true,
    tag: FLOAT,
    test: /^(?:[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?|[-+]?\.[0-9][0-9_]*)(?:[eE][-+]?[0-9][0-9_]*)?$/,
    resolve: (text) => {
      const number = Number(text.replaceAll('_', ''));
      // What is beyond the largest number is a text there.
      return Number.isFinite(number) ? number : text;
    },
  },
  {
    default: true,
    tag: FLOAT,
    test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text, onError) => {
      onError(`${text} is no number that JSON has; write another one, or a text in quotes`);
      return text;
    },
  },
  tagged(FLOAT, Number),
  tagged('tag:yaml.org,2002:timestamp', (text) => text),
  {
    default: false,
    tag: 'tag:yaml.org,2002:binary',
    resolve: (text, onError) => {
      const digits = text.replaceAll(/\s/g, '');
      if (!BASE64.test(digits)) onError('is no text in base64, as its tag !!binary says');
      return Buffer.from(digits, 'base64').toString('utf8');
    },
  },
  { collection: 'map', tag: 'tag:yaml.org,2002:set', resolve: (map) => map },
  { collection: 'seq', tag: 'tag:yaml.org,2002:omap', resolve: (list) => list },
  { collection: 'seq', tag: 'tag:yaml.org,2002:pairs', resolve: (list) => list },
];

function bool(test: RegExp, value: boolean): ScalarTag {
  return { default: true, tag: 'tag:yaml.org,2002:bool', test, resolve: () => value };
}

function whole(test: RegExp, prefix: string): ScalarTag {
  return {
    default: true,
    tag: INT,
    test,
    resolve(text) {
      const digits = text
        .replaceAll('_', '')
        .replace(/^[-+]/, '')
        .replace(/^0[bBoOxX]?(?=.)/, '');
      const size = BigInt(`${prefix}${digits}`);
      if (text.startsWith('-')) return -Number(size);
      return size < INT64_END ? Math.min(Number(size), BELOW_INT64_END) : Number(size);
    },
  };
}

/** A scalar that is written with its tag, such as `!!binary`. */
function tagged(tag: string, read: (text: string) => string | number): ScalarTag {
  return { default: false, tag, resolve: read };
}
