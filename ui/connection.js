/**
 * Reads the picker's events, and its documents that have no events, until the page is closed. It
 * connects again after a second where the picker has gone, and reads nothing while the page is
 * hidden.
 *
 * @import { LiveMessage } from '../src/serve/live/live-message.ts'
 * @import { State } from './state.js'
 */
import { createParser } from 'eventsource-parser';
import { emptyState, receive } from './state.js';

const RETRY_MS = 1000;
const DOCUMENTS_EVERY_MS = 3000;
/** A picker sends something each second. */
const SILENT_MAX_MS = 15_000;
/** A picker answers at once, unless the browser asks on an old connection that is dead. */
const ANSWER_MAX_MS = 5000;
const MESSAGE_CHARS_MAX = 16 * 1024 * 1024;
const TOKEN_KEY = 'pointsman-token';

/** What the page shows beside the events, where the picker answers it. */
const DOCUMENTS = ['/debug/shadows', '/debug/promotion', '/debug/headroom', '/debug/replicas'];

export class PickerConnection {
  /** @type {State} */
  state = emptyState();
  /** @type {() => void} */
  #changed;
  /** @type {AbortController | undefined} */
  #open;
  #readsDocuments = false;

  /** @param {() => void} changed called after each change of the state */
  constructor(changed) {
    this.#changed = changed;
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#open?.abort();
      else void this.run();
    });
  }

  /** The token of administrators, which other machines must give. @param {string} token */
  useToken(token) {
    sessionStorage.setItem(TOKEN_KEY, token.trim());
    void this.run();
  }

  /** Reads until the page is hidden or the picker refuses. */
  async run() {
    this.#open?.abort();
    const open = new AbortController();
    this.#open = open;
    const documents = setInterval(() => void this.#readDocuments(open.signal), DOCUMENTS_EVERY_MS);
    while (!open.signal.aborted) {
      const goesOn = await this.#read(open.signal).catch((error) => this.#lost(error));
      if (!goesOn) break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    clearInterval(documents);
  }

  /**
   * Reads one stream to its end. Resolves to whether to connect again.
   * @param {AbortSignal} signal
   */
  async #read(signal) {
    const silence = new AbortController();
    try {
      return await this.#readUntil(AbortSignal.any([signal, silence.signal]), (ms) =>
        setTimeout(
          () => silence.abort(new Error(`the picker has sent nothing for ${ms / 1000} s`)),
          ms,
        ),
      );
    } catch (error) {
      // The browser's own error says that something was aborted.
      throw silence.signal.aborted ? silence.signal.reason : error;
    }
  }

  /**
   * @param {AbortSignal} signal
   * @param {(ms: number) => ReturnType<typeof setTimeout>} endAfter the signal comes then, unless the timer is cleared
   */
  async #readUntil(signal, endAfter) {
    const answerTimer = endAfter(ANSWER_MAX_MS);
    const response = await fetch('debug/live', { headers: headers(), signal }).finally(() =>
      clearTimeout(answerTimer),
    );
    if (!response.ok || response.body === null) return this.#refused(response);
    const parser = createParser({
      onEvent: ({ data }) => this.#receive(/** @type {LiveMessage} */ (JSON.parse(data))),
      maxBufferSize: MESSAGE_CHARS_MAX,
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const timer = endAfter(SILENT_MAX_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return this.#lost(new Error('the picker has ended the stream'));
      parser.feed(value);
    }
  }

  /** @param {LiveMessage} message */
  #receive(message) {
    const isNew = message.picker !== undefined;
    receive(this.state, message);
    this.#show('live', '');
    if (isNew && this.#open !== undefined) void this.#readDocuments(this.#open.signal);
  }

  /** @param {Response} response */
  async #refused(response) {
    const { error = `the picker answered ${response.status}` } = await response
      .json()
      .catch(() => ({}));
    this.#show(response.status === 401 ? 'token' : 'refused', error);
    // A picker that is full or starts may answer later; one that wants a token will not.
    return response.status >= 500;
  }

  /** @param {unknown} error */
  #lost(error) {
    if (document.hidden) return false;
    this.#show('lost', reasonOf(error));
    return true;
  }

  /**
   * Reads the documents one after another. A browser has six connections to a picker: those on which
   * no answer comes would keep the events from being read again.
   * @param {AbortSignal} signal
   */
  async #readDocuments(signal) {
    if (this.state.connection !== 'live' || this.#readsDocuments) return;
    this.#readsDocuments = true;
    const known = DOCUMENTS.filter((path) => this.state.picker?.documents.includes(path));
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(SILENT_MAX_MS)]);
    for (const path of known) {
      const answer = fetch(path.slice(1), { headers: headers(), signal: inTime });
      const document = await answer
        .then((each) => (each.ok ? each.json() : null))
        .catch(() => null);
      if (document !== null) this.state.documents.set(path, document);
    }
    this.#readsDocuments = false;
    if (known.length > 0) this.#changed();
  }

  /**
   * @param {State['connection']} connection
   * @param {string} reason
   */
  #show(connection, reason) {
    this.state.connection = connection;
    this.state.reason = reason;
    this.#changed();
  }
}

/** @param {unknown} error */
function reasonOf(error) {
  // Each browser has words of its own for a connection that is refused or cut, such as "Failed to fetch".
  if (error instanceof TypeError) return `the picker at ${location.host} does not answer`;
  return error instanceof Error ? error.message : String(error);
}

/** @returns {Record<string, string>} */
function headers() {
  const token = sessionStorage.getItem(TOKEN_KEY);
  return token === null || token === '' ? {} : { authorization: `Bearer ${token}` };
}
