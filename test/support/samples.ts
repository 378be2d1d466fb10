import { recordSamples } from '../../src/importers/samples.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { startTestService, type TestService, type TestServiceOptions } from './service.js';

export async function startServiceWithSamples(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService(options);
  const now = () => BigInt(Date.now()) * 1000n;
  await recordSamples(createRecorder(service.database.pool), now());
  return service;
}
