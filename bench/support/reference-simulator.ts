import { type BuiltGoProgram, buildGoProgram } from './go-program.ts';

/** The model-server simulator of llm-d, which has no accelerator and no tokenizer either. */
export function buildReferenceSimulator(
  log: (line: string) => void,
): Promise<BuiltGoProgram | { readonly unavailable: string }> {
  const program = {
    title: 'the simulator',
    name: 'reference-simulator',
    module: 'github.com/llm-d/llm-d-inference-sim',
    version: 'v0.10.2',
    folder: 'cmd/llm-d-inference-sim',
    go: '1.25.7',
  };
  return buildGoProgram(program, log);
}
