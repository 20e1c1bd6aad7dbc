// Moments: what is a number to the solver is a time of day or a date to its user.

const SECONDS = { s: 1, min: 60, h: 3600 };

export class Clock {
  // clock: the key of the same name of a problem, or nothing where times are plain numbers.
  constructor(clock) {
    this.form = clock?.form ?? "number";
    this.unit = SECONDS[clock?.unit ?? "s"];
    const origin = clock?.origin ?? 0;
    this.dated = typeof origin === "string";
    const zone = this.dated ? /(Z|[+-]\d\d:?\d\d)$/.exec(origin)?.[1] : null;
    this.zone = zone ?? "";
    this.shift = zone && zone !== "Z" ? offsetOf(zone) : 0;
    this.origin = this.dated ? Date.parse(zone ? origin : `${origin}Z`) / 1000 + this.shift : origin;
  }

  get isNumber() {
    return !this.dated && this.form !== "time of day";
  }

  // The whole moment, as it stands in a table.
  write(number) {
    if (number === null || number === undefined) return "";
    if (this.isNumber) return String(this.form === "number" ? this.origin + number : number);
    const seconds = this.origin + number * this.unit;
    if (!this.dated) return timeOfDay(seconds);
    const text = new Date(Math.round(seconds) * 1000).toISOString().slice(0, 19);
    return text.replace(/:00$/, "") + this.zone;
  }

  // The same for a chart, where the day is clear and a second does not matter.
  brief(number) {
    if (this.isNumber) return String(Math.round(Number(this.write(number)) * 10) / 10);
    const seconds = 60 * Math.round((this.origin + number * this.unit) / 60);
    return timeOfDay(this.dated ? ((seconds % 86400) + 86400) % 86400 : seconds);
  }

  // A number, null for no limit, NaN for what is no moment.
  read(text) {
    const said = String(text).trim();
    if (said === "") return null;
    if (this.isNumber) return Number(said) - (this.form === "number" ? this.origin : 0);
    if (!this.dated) {
      const found = /^(-?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$/.exec(said);
      if (!found) return NaN;
      const seconds = found[2] * 3600 + found[3] * 60 + Number(found[4] ?? 0);
      return ((found[1] ? -seconds : seconds) - this.origin) / this.unit;
    }
    const bare = said.replace(/(Z|[+-]\d\d:?\d\d)$/, "");
    const zone = said.slice(bare.length);
    const there = zone && zone !== "Z" ? offsetOf(zone) : 0;
    const local = Date.parse(`${bare.replace(" ", "T")}Z`) / 1000 - (zone ? there - this.shift : 0);
    return (local - this.origin) / this.unit;
  }

  // A moment of a plan, which is a text or a number.
  of(moment) {
    return typeof moment === "number" && this.isNumber ? moment - this.origin : this.read(moment);
  }

  // Steps between the marks of an axis over so many units.
  step(span, most) {
    const steps = this.isNumber ? decimals(span) : [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 10080]
      .map((minutes) => (minutes * 60) / this.unit);
    return steps.find((step) => span / step <= most) ?? steps.at(-1);
  }

  // A length of time.
  lasting(number) {
    if (this.isNumber) return String(Math.round(number * 10) / 10);
    const minutes = Math.round((number * this.unit) / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
}

function offsetOf(zone) {
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)/.exec(zone);
  return (sign === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}

function timeOfDay(seconds) {
  const whole = Math.round(Math.abs(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const rest = whole % 60 ? `:${two(whole % 60)}` : "";
  return `${seconds < 0 ? "-" : ""}${two(Math.floor(whole / 3600))}:${two(Math.floor(whole / 60) % 60)}${rest}`;
}

function decimals(span) {
  const power = 10 ** Math.floor(Math.log10(span || 1) - 1);
  return [1, 2, 5, 10, 20, 50, 100].map((factor) => factor * power);
}
