import { createRequire } from 'node:module';

/** An expression in CEL, the Common Expression Language, that is ready to run. */
export interface CelProgram {
  /** Integers come out as bigint, doubles as number. Throws an Error that says what is wrong. */
  run(variables: Readonly<Record<string, unknown>>): unknown;
}

interface CelEnvironment {
  registerVariable(name: string, type: string): CelEnvironment;
  parse(expression: string): CompiledExpression;
}

interface CompiledExpression {
  (variables: Readonly<Record<string, unknown>>): unknown;
  check(): { readonly valid: boolean; readonly error?: Error };
}

interface CelLibrary {
  readonly Environment: new () => CelEnvironment;
}

let library: CelLibrary | undefined;

/**
 * Compiles an expression over maps with these names. Throws an Error that says what is wrong with
 * it. Loads the library at the first call: few configurations have expressions.
 */
export function compileCel(expression: string, maps: readonly string[]): CelProgram {
  library ??= createRequire(import.meta.url)('@marcbachmann/cel-js') as CelLibrary;
  let environment = new library.Environment();
  for (const name of maps) environment = environment.registerVariable(name, 'map');
  const compiled = environment.parse(expression);
  const { valid, error } = compiled.check();
  if (!valid) throw error ?? new Error('it has an error of types');
  return { run: (variables) => compiled(variables) };
}
