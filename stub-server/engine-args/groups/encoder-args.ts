import { z } from 'zod';
import { flag, json, type SettingTypes } from './setting-types.ts';

/** Encoders of media, and where their embeddings go. */
export interface EncoderArgs {
  readonly 'mm-encoder-only'?: boolean | undefined;
  readonly 'ec-transfer-config'?: { readonly ec_role?: string | undefined } | undefined;
}

export const ENCODER_TYPES: SettingTypes<EncoderArgs> = {
  'mm-encoder-only': flag,
  'ec-transfer-config': json(z.looseObject({ ec_role: z.string().optional() })),
};

export function encoderOptions(args: EncoderArgs): object {
  const role = args['ec-transfer-config']?.ec_role;
  return {
    encoderOnly: args['mm-encoder-only'],
    servesEncodings: role === undefined ? undefined : role !== 'ec_consumer',
  };
}
