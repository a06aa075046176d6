import { describe, expect, it } from 'vitest';
import { hostPort, isHost, isHostPort } from './host-port.ts';

describe('isHost', () => {
  it.each([
    '10.0.0.1',
    '::1',
    'fd00::a:1',
    'localhost',
    'vllm-0.vllm.ns.svc',
    'vllm.ns.svc.cluster.local.',
    'vllm_0',
    '1a',
    'a1',
  ])('takes %s', (text) => expect(isHost(text)).toBe(true));

  it.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '1.2.3.4.5',
    '::g',
    '[::1]',
    'a b',
    '-a',
    'a..b',
    'a..',
    '.',
    '10.0.0.1.',
    'a:80',
    'é',
  ])('refuses %j', (text) => expect(isHost(text)).toBe(false));

  it.each(['0x7f000001', '0X7F.1', 'a.0x1', '127.0.0.0x1.', '0x', 'a.1'])(
    '[V622] refuses %s, which systems read as an IPv4 address',
    (text) => expect(isHost(text)).toBe(false),
  );

  it.each(['0xab.svc', '0xvllm', 'x0x1'])('takes the name %s', (text) =>
    expect(isHost(text)).toBe(true),
  );
});

describe('hostPort', () => {
  it('puts an IPv6 address in brackets, nothing else', () => {
    expect(hostPort('::1', 80)).toBe('[::1]:80');
    expect(hostPort('10.0.0.1', 80)).toBe('10.0.0.1:80');
    expect(hostPort('vllm-0', 80)).toBe('vllm-0:80');
  });
});

describe('isHostPort', () => {
  it.each(['10.0.0.1:1', '[::1]:8000', 'vllm-0:65535'])('takes %s', (text) =>
    expect(isHostPort(text)).toBe(true),
  );

  it.each([
    '10.0.0.1',
    '::1:8000',
    '[::1]',
    '[a]:80',
    'a:0',
    'a:65536',
    ':80',
    'a:',
    'a:8x',
    'http://a:80',
  ])('refuses %j', (text) => expect(isHostPort(text)).toBe(false));
});
