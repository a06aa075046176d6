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
  readonly ast: AstNode;
  check(): { readonly valid: boolean; readonly error?: Error };
}

/** `args` holds nodes, lists of them, names and values, as `op` has them. */
interface AstNode {
  readonly op: string;
  readonly args: unknown;
}

interface CelLibrary {
  readonly Environment: new (options: {
    readonly limits: { readonly maxListElements: number };
  }) => CelEnvironment;
}

/** What runs an expression for each element of a list. */
const LOOPS: ReadonlySet<unknown> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
/** Loops in loops, with so many elements each: 10,000 rounds take some milliseconds. */
const LOOP_DEPTH_MAX = 2;
const LIST_ELEMENTS_MAX = 100;

let library: CelLibrary | undefined;

/**
 * Compiles an expression over maps with these names. Throws an Error that says what is wrong with
 * it, also where nothing bounds how long it would run. Loads the library at the first call: few
 * configurations have expressions.
 */
export function compileCel(expression: string, maps: readonly string[]): CelProgram {
  library ??= createRequire(import.meta.url)('@marcbachmann/cel-js') as CelLibrary;
  let environment = new library.Environment({ limits: { maxListElements: LIST_ELEMENTS_MAX } });
  for (const name of maps) environment = environment.registerVariable(name, 'map');
  const compiled = environment.parse(expression);
  const { valid, error } = compiled.check();
  if (!valid) throw error ?? new Error('it has an error of types');
  checkTime(compiled.ast, 0);
  return { run: (variables) => compiled(variables) };
}

/** An expression runs for each answer, and nothing interrupts it. Throws an Error. */
function checkTime(part: unknown, loops: number): void {
  if (Array.isArray(part)) for (const each of part) checkTime(each, loops);
  else if (isNode(part)) {
    const name: unknown =
      part.op === 'rcall' && Array.isArray(part.args) ? part.args[0] : undefined;
    if (name === 'matches') {
      throw new Error('matches() is not allowed: with some patterns it takes minutes');
    }
    const inside = LOOPS.has(name) ? loops + 1 : loops;
    if (inside > LOOP_DEPTH_MAX) {
      throw new Error(`more than ${LOOP_DEPTH_MAX} loops are inside each other`);
    }
    checkTime(part.args, inside);
  }
}

function isNode(part: unknown): part is AstNode {
  return typeof part === 'object' && part !== null && 'op' in part && 'args' in part;
}
