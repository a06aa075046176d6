import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** More than any certificate or list of authorities needs. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

/** A file that was given cannot be used: the message is a sentence for the user. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/**
 * Reads a file that may be replaced while the program serves. Throws the system's error, and
 * UnreadableFile for what is no regular file or larger than `bytesMax`: reading a pipe would stop the whole
 * process until somebody writes to it, and a device never ends.
 */
export function readFollowed(path: string, bytesMax: number = FILE_BYTES_MAX): Buffer {
  // Opening a pipe without this flag waits, too.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new UnreadableFile(`${path} is not a file`);
    if (status.size > bytesMax) {
      throw new UnreadableFile(`${path} has ${status.size} bytes; at most ${bytesMax} are read`);
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}
