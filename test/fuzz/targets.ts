import type { FuzzTarget } from './target.ts';
import { accessLog } from './targets/access-log.ts';
import { apiPaths } from './targets/api-path.ts';
import { capture } from './targets/capture.ts';
import { cluster } from './targets/cluster.ts';
import { config } from './targets/config.ts';
import { configValues } from './targets/config-values.ts';
import { controlBody } from './targets/control-body.ts';
import { extProc } from './targets/ext-proc.ts';
import { hpack } from './targets/hpack.ts';
import { http2 } from './targets/http2.ts';
import { jsonBody } from './targets/json-body.ts';
import { kernel } from './targets/kernel.ts';
import { kvEvents } from './targets/kv-events.ts';
import { natsBytes } from './targets/nats-bytes.ts';
import { prometheus } from './targets/prometheus.ts';
import { remoteAnswers } from './targets/remote-answers.ts';
import { replicaMessages } from './targets/replica-messages.ts';
import { session } from './targets/session.ts';
import { sidecarBody } from './targets/sidecar-body.ts';
import { trace } from './targets/trace.ts';
import { zmtp } from './targets/zmtp.ts';

export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  http2,
  hpack,
  extProc,
  session,
  jsonBody,
  kernel,
  controlBody,
  apiPaths,
  prometheus,
  kvEvents,
  config,
  configValues,
  capture,
  trace,
  remoteAnswers,
  accessLog,
  zmtp,
  natsBytes,
  replicaMessages,
  sidecarBody,
  cluster,
];

/** Throws for an unknown name. */
export function targetNamed(name: string): FuzzTarget {
  const found = FUZZ_TARGETS.find((target) => target.name === name);
  if (found !== undefined) return found;
  throw new Error(
    `--target is ${name}; the targets are ${FUZZ_TARGETS.map((each) => each.name).join(', ')}`,
  );
}
