import type { ScalarTag } from 'yaml';

/**
 * Scalars that YAML 1.1 reads in another way than YAML 1.2. Kubernetes reads its files, and so the
 * reference picker its configuration, as Go's reader of YAML 1.1 does: `on` is true, `010` is 8.
 */
export const YAML_1_1_SCALARS: readonly ScalarTag[] = [
  bool(/^(?:[yY]|[yY]es|YES|[oO]n|ON)$/, true),
  bool(/^(?:[nN]|[nN]o|NO|[oO]ff|OFF)$/, false),
  whole(/^[-+]?0b[01_]+$/, 2, '0b'),
  whole(/^[-+]?0[0-7_]+$/, 8, '0'),
  whole(/^[-+]?0x[0-9a-fA-F_]+$/, 16, '0x'),
  whole(/^[-+]?[1-9][0-9]*_[0-9_]*$/, 10, ''),
  {
    default: true,
    tag: 'tag:yaml.org,2002:float',
    test: /^[-+]?(?=[0-9._]*_)[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?$/,
    resolve: (text) => Number(text.replaceAll('_', '')),
  },
];

function bool(test: RegExp, value: boolean): ScalarTag {
  return { default: true, tag: 'tag:yaml.org,2002:bool', test, resolve: () => value };
}

function whole(test: RegExp, radix: number, prefix: string): ScalarTag {
  return {
    default: true,
    tag: 'tag:yaml.org,2002:int',
    test,
    resolve(text) {
      const digits = text.replaceAll('_', '').replace(/^[-+]/, '').slice(prefix.length);
      return Number.parseInt(digits, radix) * (text.startsWith('-') ? -1 : 1);
    },
  };
}
