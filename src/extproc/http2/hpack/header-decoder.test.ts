import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DecodedHeaders, HeaderDecoder, HpackError } from './header-decoder.ts';

const LIST_BYTES_MAX = 8192;
const GET_ROOT = '828684';

function newDecoder(): HeaderDecoder {
  return new HeaderDecoder({ tableBytesMax: 4096, listBytesMax: LIST_BYTES_MAX });
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

function string(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
}

/** Stands in the table afterwards; name and value have at most 126 characters. */
function kept(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0x40), string(name), string(value)]);
}

/** `GET /` with these fields after it. */
function withFields(...fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat([hex(GET_ROOT), ...fields.map(([name, value]) => kept(name, value))]);
}

function textOf({ fields }: DecodedHeaders): string {
  return [...fields].map(([name, value]) => `${name}: ${value}`).join(' | ');
}

function bytesOf({ fields }: DecodedHeaders): number {
  return [...fields].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

describe('the examples of RFC 7541, appendix C', () => {
  it.each([
    ['400a637573746f6d2d6b65790d637573746f6d2d686561646572', 'custom-key: custom-header'],
    ['040c2f73616d706c652f70617468', ':path: /sample/path'],
    ['100870617373776f726406736563726574', 'password: secret'],
    ['82', ':method: GET'],
  ])('[V180] C.2: %s', (block, text) => {
    expect(textOf(newDecoder().decode(hex(block)))).toBe(text);
  });

  const start = ':method: GET | :scheme: http | :path: / | :authority: www.example.com';
  const secure = ':method: GET | :scheme: https | :path: /index.html | :authority: www.example.com';
  const requests = [
    start,
    `${start} | cache-control: no-cache`,
    `${secure} | custom-key: custom-value`,
  ];
  const date = 'date: Mon, 21 Oct 2013 20:13:2';
  const place = 'location: https://www.example.com';
  const answers = [
    `:status: 302 | cache-control: private | ${date}1 GMT | ${place}`,
    `:status: 307 | cache-control: private | ${date}1 GMT | ${place}`,
    `:status: 200 | cache-control: private | ${date}2 GMT | ${place} | content-encoding: gzip | ` +
      'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ];
  const tableOf256 = '3fe101';

  it.each([
    [
      'C.3',
      [
        '828684410f7777772e6578616d706c652e636f6d',
        '828684be58086e6f2d6361636865',
        '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
      ],
      requests,
    ],
    [
      'C.4',
      [
        '828684418cf1e3c2e5f23a6ba0ab90f4ff',
        '828684be5886a8eb10649cbf',
        '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
      ],
      requests,
    ],
    [
      'C.5',
      [
        `${tableOf256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a
         323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
        '4803333037c1c0bf',
        `88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d
         4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b20766572
         73696f6e3d31`,
      ],
      answers,
    ],
    [
      'C.6',
      [
        `${tableOf256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad
         171863c78f0b97c8e9ae82ae43d3`,
        '4883640effc1c0bf',
        `88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdf
         cd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007`,
      ],
      answers,
    ],
  ])('[V180] %s: blocks of one connection', (_, blocks, texts) => {
    const decoder = newDecoder();
    expect(blocks.map((each) => textOf(decoder.decode(hex(each.replaceAll(/\s/g, '')))))).toEqual(
      texts,
    );
  });
});

describe('the decoder of headers', () => {
  it('[V180] reads a block that comes again by the table of its time', () => {
    const decoder = newDecoder();
    const newest = hex(`${GET_ROOT}be`);
    for (const value of ['one', 'two']) {
      decoder.decode(withFields(['x-key', value]));
      for (let time = 0; time < 3; time++) {
        expect(decoder.decode(newest).fields.get('x-key')).toBe(value);
        expect(decoder.decode(newest, 'trailers').fault).toBe('malformed');
      }
    }
    decoder.decode(hex('20'));
    expect(() => decoder.decode(newest)).toThrow(new HpackError('no field has index 62'));
  });

  it('[V180] changes the table each time a block says so', () => {
    const decoder = newDecoder();
    const stored = withFields(['x-key', 'one']);
    for (const _ of [1, 2]) decoder.decode(stored);
    expect(textOf(decoder.decode(hex('be bf')))).toBe('x-key: one, one');
    for (const _ of [1, 2]) {
      for (const block of [stored, hex('20'), hex('3fe11f')]) decoder.decode(block);
    }
    expect(() => decoder.decode(hex('be'))).toThrow('no field has index 62');
  });

  it('[V180] keeps nothing of the memory that a block stands in', () => {
    const decoder = newDecoder();
    const memory = Buffer.alloc(64);
    for (const value of ['one', 'two', 'six']) {
      const block = Buffer.concat([hex(GET_ROOT), Buffer.of(0), string('x-key'), string(value)]);
      block.copy(memory);
      const view = new Uint8Array(memory.buffer, memory.byteOffset, block.length);
      const headers = decoder.decode(view);
      memory.fill(0);
      expect(headers.fields.get('x-key')).toBe(value);
    }
  });

  it('[V180] joins the values of a repeated name in their order', () => {
    const { fields } = newDecoder().decode(withFields(['a', '1'], ['b', '2'], ['a', '3']));
    expect([fields.get('a'), fields.get('b')]).toEqual(['1, 3', '2']);
  });

  it.each([
    ['80', 'no field has index 0'],
    ['be', 'no field has index 62'],
    ['40 0161 0162 bf', 'no field has index 63'],
    ['7e 0161', 'no field has index 62'],
    ['82 20', 'a table size comes after a field'],
    ['3fe21f', 'a table size of 4097 is larger than 4096'],
    ['40', 'a block ends within a field'],
    ['40 01', 'a string is longer than its block'],
    ['40 0161', 'a block ends within a field'],
    ['00 0161 027a', 'a string is longer than its block'],
    ['00 0161 81ff', 'a string ends with bits that are no padding'],
    ['ff808080', 'a block ends within a field'],
    ['ff8080808000', 'an integer is too large'],
  ])('[V181] refuses %s: %s', (block, message) => {
    expect(() => newDecoder().decode(hex(block))).toThrow(new HpackError(message));
  });

  it('[V181] takes the sizes of its table before the first field', () => {
    const decoder = newDecoder();
    decoder.decode(withFields(['a', '1']));
    expect(textOf(decoder.decode(hex('3fe11f be')))).toBe('a: 1');
    expect(() => decoder.decode(hex('20 3fe11f be'))).toThrow('no field has index 62');
  });
});

describe('a list of headers', () => {
  const large = kept('x-large', 'v'.repeat(100));

  it('[V182] is refused past its bound, and not kept, however small its block is', () => {
    const decoder = newDecoder();
    decoder.decode(Buffer.concat([hex(GET_ROOT), large]));
    const bomb = decoder.decode(Buffer.concat([hex(GET_ROOT), Buffer.alloc(1_000_000, 0xbe)]));
    expect([bomb.fault, bytesOf(bomb) <= LIST_BYTES_MAX]).toEqual(['too-large', true]);
    expect(decoder.decode(hex(`${GET_ROOT}be`)).fault).toBeUndefined();
  });

  it('[V182] counts 32 bytes beside each name and value', () => {
    const decoder = new HeaderDecoder({ tableBytesMax: 4096, listBytesMax: 42 + 43 + 38 + 34 });
    expect(decoder.decode(withFields(['a', '1'])).fault).toBeUndefined();
    expect(decoder.decode(withFields(['a', '12'])).fault).toBe('too-large');
  });

  it('[V182] past its bound changes the table as any other', () => {
    const decoder = newDecoder();
    const many = Buffer.concat([Buffer.alloc(300, 0x82), large, kept('a', '1')]);
    expect(decoder.decode(many).fault).toBe('too-large');
    expect(textOf(decoder.decode(hex('be bf')))).toBe(`a: 1 | x-large: ${'v'.repeat(100)}`);
  });
});

describe('the headers of a request', () => {
  it.each([
    ['an authority', [hex(GET_ROOT), hex('41 0161')]],
    ['an empty authority', [hex(GET_ROOT), hex('81')]],
    ['te: trailers', [withFields(['te', 'trailers'])]],
    ['values with tabs, spaces and bytes above ASCII', [withFields(['a', 'b \t\xa0\xff c'])]],
    ['an empty value', [withFields(['a', ''])]],
    ['every character of a token', [withFields(["az09!#$%&'*+-.^_`|~", ''])]],
  ])('[V183] may have %s', (_, parts) => {
    expect(newDecoder().decode(Buffer.concat(parts)).fault).toBeUndefined();
  });

  it.each([
    ['no method', [hex('8684')]],
    ['no scheme', [hex('8284')]],
    ['no path', [hex('8286')]],
    ['an empty path', [hex('8286'), hex('04 00')]],
    ['a method twice', [hex(GET_ROOT), hex('82')]],
    ['two paths', [hex(GET_ROOT), hex('85')]],
    ['an unknown pseudo header', [hex(GET_ROOT), kept(':protocol', 'a')]],
    ['the status of an answer', [hex(GET_ROOT), hex('88')]],
    ['a pseudo header after another field', [hex('8286'), kept('a', ''), hex('84')]],
    ['a name in upper case', [withFields(['Te', 'trailers'])]],
    ['an empty name', [withFields(['', 'a'])]],
    ['a name with a space', [withFields(['a b', ''])]],
    ['a name with a colon', [withFields(['a:b', ''])]],
    ['a name with a byte above ASCII', [withFields(['a\xe4', ''])]],
    ...['\0', '\r', '\n', '\x01', '\x7f'].map((each): [string, Buffer[]] => [
      `character ${each.charCodeAt(0)} in a value`,
      [withFields(['a', `b${each}c`])],
    ]),
    ...[' a', 'a ', '\ta', 'a\t', ' '].map((each): [string, Buffer[]] => [
      `white space around a value: ${JSON.stringify(each)}`,
      [withFields(['a', each])],
    ]),
    ['a line break in its path', [hex('8286'), hex('04 03'), Buffer.from('/\r\n')]],
    ['a field of the connection', [withFields(['connection', 'close'])]],
    ['another field of the connection', [withFields(['transfer-encoding', 'chunked'])]],
    ['te: gzip', [withFields(['te', 'gzip'])]],
  ])('[V183] are refused with %s, each time, and the connection goes on', (_, parts) => {
    const decoder = newDecoder();
    const block = Buffer.concat(parts);
    for (let time = 0; time < 3; time++) expect(decoder.decode(block).fault).toBe('malformed');
    expect(decoder.decode(hex(GET_ROOT)).fault).toBeUndefined();
  });

  it('[V183] are refused when a forbidden field comes from the table', () => {
    const decoder = newDecoder();
    decoder.decode(withFields(['a', 'b\nc']));
    expect(decoder.decode(hex(`${GET_ROOT}be`)).fault).toBe('malformed');
  });

  it('[V183] have no pseudo headers among trailers', () => {
    const decoder = newDecoder();
    expect(decoder.decode(kept('grpc-status', '0'), 'trailers').fault).toBeUndefined();
    expect(decoder.decode(hex('82 be'), 'trailers').fault).toBe('malformed');
    expect(decoder.decode(hex('be 82'), 'trailers').fault).toBe('malformed');
    // The decoder keeps the last block: what it means depends on where it stands.
    const kinds = ['head', 'trailers', 'head'] as const;
    const faults = kinds.map((kind) => decoder.decode(hex(GET_ROOT), kind).fault);
    expect(faults).toEqual([undefined, 'malformed', undefined]);
  });
});

it('[V181] takes or refuses blocks of any bytes, and keeps no more than the bound', () => {
  const good = Buffer.concat([
    hex('828684418cf1e3c2e5f23a6ba0ab90f4ff408825a849e95ba97d7f8925a849e95bb8e8b4bf'),
    kept('x-request-id', '7b2c'),
    hex('be bf c0'),
  ]);
  const changed = fc
    .array(fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 4 })
    .map((changes) => {
      const block = Buffer.from(good);
      for (const [at, byte] of changes) block[at] = byte;
      return new Uint8Array(block);
    });
  const blocks = fc.array(fc.oneof(fc.uint8Array({ maxLength: 200 }), changed), { maxLength: 20 });
  fc.assert(
    fc.property(blocks, (each) => {
      const decoder = new HeaderDecoder({ tableBytesMax: 4096, listBytesMax: 300 });
      try {
        for (const block of each) expect(bytesOf(decoder.decode(block))).toBeLessThanOrEqual(300);
      } catch (error) {
        if (!(error instanceof HpackError)) throw error;
      }
    }),
    { numRuns: 1000, seed: 181 },
  );
});
