/**
 * A program that loads the modules of the picker and of its threads, and does nothing with them: at
 * its end Node writes what it has compiled into `NODE_COMPILE_CACHE`. Processes that run tests do
 * not get so far, because Vitest ends them by a signal, and each thread would compile the modules
 * again: eight shadows took 4 s of CPU longer.
 */
import '../../../src/io-workers/running-worker.ts';
import '../../../src/redecide/redecide.ts';
import '../../../src/serve/serve.ts';
