import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { commandLineError } from '../../framework/error.ts';
import { PRIVATE_FILE } from '../folders.ts';
import { readFollowed } from './read-followed.ts';

/** A shorter token could be guessed. */
const TOKEN_CHARS_MIN = 16;
const TOKEN_BYTES = 32;

/**
 * The bearer token in a file, without the space around it. Throws the system's error for a file
 * that cannot be read, UnreadableFile for what is no file, and ConfigError for content that cannot be a
 * token.
 */
export function readToken(flag: string, path: string): string {
  const token = readFollowed(path).toString('utf8').trim();
  if (token.length < TOKEN_CHARS_MIN || /[^\x21-\x7e]/.test(token)) {
    const message =
      `the token in ${path} must have at least ${TOKEN_CHARS_MIN} printable characters and no ` +
      'space; make one with: openssl rand -hex 32';
    throw commandLineError(flag, message);
  }
  return token;
}

/** Makes the file with a random token that only this user can read, unless it exists. */
export function makeTokenFile(path: string): void {
  if (existsSync(path)) return;
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  writeFileSync(path, `${token}\n`, { flag: 'wx', mode: PRIVATE_FILE });
}
