import { type BuiltGoProgram, buildGoProgram } from './go-program.ts';

/**
 * The reference's endpoint picker: the last one of the module that llm-d-router grew from. The
 * first build takes some CPU minutes, because it has Kubernetes' client library in it.
 */
export function buildReferenceEpp(
  log: (line: string) => void,
): Promise<BuiltGoProgram | { readonly unavailable: string }> {
  const program = {
    title: 'the endpoint picker',
    name: 'reference-epp',
    module: 'sigs.k8s.io/gateway-api-inference-extension',
    version: 'v1.5.0',
    folder: 'cmd/epp',
    go: '1.25.0',
  };
  return buildGoProgram(program, log);
}
