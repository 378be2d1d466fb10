import { invalidValue } from './errors.js';
import type { MasterText } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import { type RdataCodec, requireRdata } from './rdata-codec.js';
import { invalidText } from './text.js';

const EQUATOR = 2 ** 31;
/** In thousandths of a second. */
const DEGREE = 3_600_000;
/** Centimetres below the WGS 84 ellipsoid. */
const REFERENCE_ALTITUDE = 10_000_000;
/** RFC 1876, section 3: size 1 m, horizontal precision 10 km, vertical precision 10 m. */
const DEFAULT_PRECISIONS = [0x12, 0x16, 0x13];

/**
 * The rdata of a LOC record as dig writes it: `42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m`. In texts
 * minutes, seconds, the `m` of metres, size and precisions may be left out (RFC 1876, section 3).
 */
export const location: RdataCodec = {
  write: (text) => {
    const octets = Buffer.alloc(16);
    octets.writeUInt32BE(EQUATOR + angleIn(text, 'N', 'S'), 4);
    octets.writeUInt32BE(EQUATOR + angleIn(text, 'E', 'W'), 8);
    octets.writeUInt32BE(REFERENCE_ALTITUDE + centimetres(text.next(), -1e7, 4_284_967_295), 12);
    const precisions = DEFAULT_PRECISIONS.map((octet) =>
      text.isAtEnd ? octet : precisionOctet(text.next()),
    );
    octets.set(precisions, 1);
    return octets;
  },
  read: (rdata) => {
    requireRdata(rdata.uint8() === 0, 'an unknown version of LOC');
    const precisions = [precision(rdata), precision(rdata), precision(rdata)];
    const angles = [angle(rdata, 90, 'N', 'S'), angle(rdata, 180, 'E', 'W')];
    const altitude = `${((rdata.uint32() - REFERENCE_ALTITUDE) / 100).toFixed(2)}m`;
    return [...angles, altitude, ...precisions].join(' ');
  },
};

/** RFC 1876, section 2: a digit, and the power of ten by which it is multiplied, in centimetres. */
function precision(rdata: MessageReader): string {
  const octet = rdata.uint8();
  const [digit, power] = [octet >> 4, octet & 0x0f];
  requireRdata(digit <= 9 && power <= 9 && (digit > 0 || power === 0), 'a size that is not decimal');
  return power > 1 ? `${digit * 10 ** (power - 2)}m` : `0.${String(digit * 10 ** power).padStart(2, '0')}m`;
}

function angle(rdata: MessageReader, largest: number, positive: string, negative: string): string {
  const offset = rdata.uint32() - EQUATOR;
  const thousandths = Math.abs(offset);
  requireRdata(thousandths <= largest * DEGREE, 'an angle that is too large');
  const degrees = Math.floor(thousandths / DEGREE);
  const minutes = Math.floor((thousandths % DEGREE) / 60_000);
  const seconds = ((thousandths % 60_000) / 1000).toFixed(3);
  return `${degrees} ${minutes} ${seconds} ${offset < 0 ? negative : positive}`;
}

/** Degrees, minutes and seconds up to the letter of a hemisphere, as thousandths of a second. */
function angleIn(text: MasterText, positive: string, negative: string): number {
  let thousandths = 0;
  for (const unit of [DEGREE, 60_000, 1000, 0]) {
    const word = text.next();
    if (word.toUpperCase() === positive) return thousandths;
    if (word.toUpperCase() === negative) return -thousandths;
    const form = unit > 1000 ? /^\d{1,3}$/ : /^\d{1,3}(?:\.\d{1,3})?$/;
    if (!form.test(word) || Number(word) > (unit === DEGREE ? 180 : 59.999))
      throw invalidText(word, 'part of a location');
    thousandths += Math.round(Number(word) * unit);
  }
  throw invalidValue(`${positive} or ${negative} is missing.`);
}

function centimetres(word: string, least: number, largest: number): number {
  const metres = /^-?\d{1,8}(?:\.\d{1,2})?m?$/i.test(word) ? Number.parseFloat(word) : Number.NaN;
  const value = Math.round(metres * 100);
  if (value >= least && value <= largest) return value;
  throw invalidText(word, 'part of a location');
}

/** Of the digits the first counts. */
function precisionOctet(word: string): number {
  const digits = String(centimetres(word, 0, 9e9));
  return digits === '0' ? 0 : (Number(digits.charAt(0)) << 4) | (digits.length - 1);
}
