import { answerWith } from '../../../files/reading/read-thread.ts';
import { parseEndpoints } from './parse-endpoints.ts';

/** A thread that reads and checks an endpoints file, which may list thousands. */
answerWith(parseEndpoints);
