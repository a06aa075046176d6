import { answerWith } from '../../../files/read-thread.ts';
import { parseEndpoints } from './parse-endpoints.ts';

/** A thread that reads and checks an endpoints file, which may list thousands. */
answerWith(parseEndpoints);
