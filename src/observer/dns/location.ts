import { MalformedMessageError } from './malformed.js';
import type { MessageReader } from './message-reader.js';

const EQUATOR = 2 ** 31;
/** Thousandths of a second of arc. */
const DEGREE = 3_600_000;
/** Centimetres below the WGS 84 ellipsoid. */
const REFERENCE_ALTITUDE = 10_000_000;

/**
 * The rdata of a LOC record as dig writes it: `42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m`.
 *
 * @throws MalformedMessageError for another version than 0, and for values that RFC 1876 does not allow.
 */
export function locationText(rdata: MessageReader): string {
  if (rdata.uint8() !== 0) throw new MalformedMessageError('an unknown version of LOC');
  const [size, horizontal, vertical] = [precision(rdata), precision(rdata), precision(rdata)];
  const latitude = angle(rdata, 90, 'N', 'S');
  const longitude = angle(rdata, 180, 'E', 'W');
  return `${latitude} ${longitude} ${altitude(rdata)} ${size} ${horizontal} ${vertical}`;
}

/** RFC 1876, section 2: a digit, and the power of ten by which it is multiplied, in centimetres. */
function precision(rdata: MessageReader): string {
  const octet = rdata.uint8();
  const digit = octet >> 4;
  const power = octet & 0x0f;
  if (digit > 9 || power > 9) throw new MalformedMessageError('a size that is no decimal');
  return power > 1 ? `${digit * 10 ** (power - 2)}m` : `0.${String(digit * 10 ** power).padStart(2, '0')}m`;
}

function angle(rdata: MessageReader, largest: number, positive: string, negative: string): string {
  const offset = rdata.uint32() - EQUATOR;
  const thousandths = Math.abs(offset);
  if (thousandths > largest * DEGREE) throw new MalformedMessageError('an angle that is too large');
  const degrees = Math.floor(thousandths / DEGREE);
  const minutes = Math.floor((thousandths % DEGREE) / 60_000);
  const seconds = ((thousandths % 60_000) / 1000).toFixed(3);
  return `${degrees} ${minutes} ${seconds} ${offset < 0 ? negative : positive}`;
}

function altitude(rdata: MessageReader): string {
  return `${((rdata.uint32() - REFERENCE_ALTITUDE) / 100).toFixed(2)}m`;
}
