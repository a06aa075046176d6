import { z } from 'zod';
import { DIALECT_NAMES, type DialectName } from '../../metrics/engine-page.ts';
import { PORT } from '../../options/stub-options.ts';
import { settingError } from './setting-error.ts';
import { count, duration, flag, listOf, number, type SettingTypes, text } from './setting-types.ts';

/** The model that is served, and where. */
export interface ServerArgs {
  readonly model?: string | undefined;
  readonly 'served-model-name'?: readonly string[] | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly engine?: DialectName | undefined;
  readonly seed?: number | undefined;
  readonly 'max-model-len'?: number | undefined;
  readonly 'data-parallel-size'?: number | undefined;
  /** In milliseconds. */
  readonly 'startup-duration'?: number | undefined;
  readonly 'max-request-body-size-mb'?: number | undefined;
  readonly 'api-key'?: readonly string[] | undefined;
  readonly 'ssl-certfile'?: string | undefined;
  readonly 'ssl-keyfile'?: string | undefined;
  readonly 'self-signed-certs'?: boolean | undefined;
}

export const SERVER_TYPES: SettingTypes<ServerArgs> = {
  model: text,
  'served-model-name': listOf(text),
  host: text,
  port: number.pipe(PORT),
  engine: z.enum(DIALECT_NAMES),
  seed: number.pipe(z.int()),
  'max-model-len': count,
  'data-parallel-size': count.pipe(z.int().max(8)),
  'startup-duration': duration,
  'max-request-body-size-mb': count.pipe(z.int().max(512)),
  'api-key': listOf(text),
  'ssl-certfile': text,
  'ssl-keyfile': text,
  'self-signed-certs': flag,
};

/** Throws ConfigError for certificates that cannot be combined. */
export function serverOptions(args: ServerArgs): object {
  const names = args['served-model-name'] ?? [];
  const [model = args.model, ...aliases] = names;
  const mebibytes = args['max-request-body-size-mb'];
  return {
    model,
    modelRoot: args.model ?? model,
    aliases: names.length > 1 ? aliases : undefined,
    host: args.host,
    port: args.port,
    engine: args.engine,
    seed: args.seed === undefined ? undefined : Math.abs(args.seed),
    contextTokensMax: args['max-model-len'],
    dataParallelSize: args['data-parallel-size'],
    readyAfterMs: args['startup-duration'],
    bodyBytesMax: mebibytes === undefined ? undefined : mebibytes * 2 ** 20,
    apiKeys: args['api-key'],
    tls: tlsOf(args),
  };
}

function tlsOf(args: ServerArgs): unknown {
  const certFile = args['ssl-certfile'] || undefined;
  const keyFile = args['ssl-keyfile'] || undefined;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw settingError('--ssl-certfile', 'and --ssl-keyfile need each other: give both');
  }
  if (certFile === undefined) return args['self-signed-certs'] === true ? 'self-signed' : undefined;
  if (args['self-signed-certs'] !== true) return { certFile, keyFile };
  throw settingError(
    '--self-signed-certs',
    'cannot be used with --ssl-certfile: leave one of them out',
  );
}
