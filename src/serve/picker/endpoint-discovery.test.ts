import { expect, it } from 'vitest';
import { whyNoneListed } from './endpoint-discovery.ts';

const name = (of: string, error?: string) => ({ name: of, addresses: [], error, since: 0 });

it('[O414] names a host name that is not resolved and why, where no endpoint is left', () => {
  const wrong = name('vllm.invalid', 'getaddrinfo ENOTFOUND vllm.invalid');
  expect(whyNoneListed([wrong], undefined)).toBe(
    'the host name vllm.invalid is not resolved (getaddrinfo ENOTFOUND vllm.invalid)',
  );
  expect(whyNoneListed([wrong, name('other.invalid')], undefined)).toBe(
    'none of 2 host names of model servers is resolved, such as vllm.invalid (getaddrinfo ENOTFOUND vllm.invalid)',
  );
  expect(whyNoneListed([name('vllm.invalid')], undefined)).toBe(
    'the host name vllm.invalid is not resolved',
  );
  expect(whyNoneListed([], undefined)).toContain('no --endpoints');
});
