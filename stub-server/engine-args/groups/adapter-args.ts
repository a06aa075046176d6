import { z } from 'zod';
import { settingError } from './setting-error.ts';
import { count, flag, listOf, parsedJson, type SettingTypes } from './setting-types.ts';

interface AdapterArg {
  readonly name: string;
  readonly path?: string | undefined;
}

/** LoRA adapters. */
export interface AdapterArgs {
  readonly 'enable-lora'?: boolean | undefined;
  readonly 'lora-modules'?: readonly AdapterArg[] | undefined;
  readonly 'max-loras'?: number | undefined;
  readonly 'max-cpu-loras'?: number | undefined;
}

/** An adapter: JSON in llm-d-inference-sim and vLLM, or vLLM's older `name=path`. */
const adapter: z.ZodType<AdapterArg> = z.preprocess(
  (value) => {
    const [, name, path] = /^([^={}]+)(?:=(.*))?$/.exec(String(value)) ?? [];
    return name === undefined ? parsedJson(value) : { name, path: path ?? name };
  },
  z.looseObject({ name: z.string().min(1), path: z.string().optional() }),
);

export const ADAPTER_TYPES: SettingTypes<AdapterArgs> = {
  'enable-lora': flag,
  'lora-modules': listOf(adapter),
  'max-loras': count,
  'max-cpu-loras': count,
};

/** Throws ConfigError where fewer adapters would fit in the host's memory than are active. */
export function adapterOptions(args: AdapterArgs): object {
  const modules = args['lora-modules'];
  const active = args['max-loras'];
  const host = args['max-cpu-loras'];
  if (active !== undefined && host !== undefined && host < active) {
    throw settingError('--max-cpu-loras', `is ${host}, below --max-loras (${active}): raise it`);
  }
  const path = ({ name, path = name }: AdapterArg): readonly [string, string] => [name, path];
  return {
    loras: modules?.map(({ name }) => name),
    loraPaths: modules === undefined ? undefined : Object.fromEntries(modules.map(path)),
    lorasMax: active,
    loraEnabled: args['enable-lora'],
    hostLorasMax: host,
  };
}
