import { answerWith } from '../files/reading/read-thread.ts';
import { readConfigText } from './schema/schema.ts';

/** A thread that reads the text of a configuration: the time of YAML grows with the text. */
answerWith(readConfigText);
