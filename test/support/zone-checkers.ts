import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DnsRecord, parseDnsRecord } from '../../src/model/dns-record.js';
import { isInstalled, PATH } from './processes.js';

export const HAS_ZONE_CHECKERS = ['named-checkzone', 'nsd-checkzone'].every(isInstalled);

/**
 * The records of a master file that both BIND and NSD load as a zone, as BIND writes them.
 *
 * @param integrity `local`: hosts of the zone that its records name must have addresses in it.
 * @throws Error with what the one says that does not load it.
 */
export function loadedRecords(zone: string, text: string, integrity: 'local' | 'none'): DnsRecord[] {
  const folder = mkdtempSync(join(tmpdir(), 'dms-zone-'));
  const [file, dump] = [join(folder, 'zone'), join(folder, 'dump')];
  const run = (program: string, ...options: readonly string[]) => {
    const args = [...options, zone, file];
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { PATH } });
    if (status !== 0) throw new Error(`${program}: ${stdout}${stderr}`);
  };
  try {
    writeFileSync(file, text);
    run('nsd-checkzone');
    run('named-checkzone', '-i', integrity, '-k', 'ignore', '-D', '-o', dump);
    return recordsOfLines(readFileSync(dump, 'utf8').split('\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The records of a master file's lines, each with its owner and class: not those in comments. */
export function recordsOfLines(lines: readonly string[]): DnsRecord[] {
  return lines.filter((line) => /^[^;$]/.test(line.trimStart())).map(recordOfLine);
}

function recordOfLine(line: string): DnsRecord {
  const [, host, type, data] = /^(\S+)\s+(?:\d+ )?IN\s+(\S+)\s*(.*)$/.exec(line.trimEnd()) ?? [];
  // BIND writes nothing for an APL record without prefixes.
  return parseDnsRecord({ host, class: 'IN', type, data: data || '\\# 0' });
}
