// Alarms: the event, and what `ctx.storage` says of an alarm while its handler runs.
//
// The time stays in the database until the handler has returned. While it runs, the alarm counts as gone: `getAlarm` gives null,
// and setting or deleting the alarm is the handler's own word on what comes next.

import { op_alarm_settled, op_report_uncaught, op_storage_get_alarm, op_storage_set_alarm } from "ext:core/ops";
import { begin, cellFor, deliver, end, GONE } from "ext:celld_events/cell.js";

/** Repetitions of a handler that throws. As on the platform; then the alarm is given up. */
const MAX_RETRIES = 6;

/** The alarm of `className`/`cellId` is due; `id` is the host's number of this run, `failures` counts the runs that threw. */
function deliverAlarm(id, className, cellId, time, failures) {
  const cell = cellFor(className, cellId, undefined);
  begin(cell);
  let open = true;
  const settle = (isDone) => {
    if (!open) return;
    open = false;
    cell.inflight.delete(fail);
    cell.firing = false;
    end(cell);
    op_alarm_settled(id, isDone);
  };
  const fail = () => settle(false);
  const done = () => {
    if (open && cell.firing) op_storage_set_alarm(cell.handle, -1);
    settle(true);
  };
  const failed = (error) => {
    if (!open) return;
    op_report_uncaught(error, `alarm of ${className}`);
    if (cell.firing && failures >= MAX_RETRIES) {
      op_report_uncaught(
        new Error(`The alarm is given up: its handler has failed ${failures + 1} times.`),
        `alarm of ${className}`,
      );
      op_storage_set_alarm(cell.handle, -1);
    }
    settle(false);
  };
  cell.inflight.add(fail);
  deliver(cell, (cell) => {
    // Set to another time or deleted while this event waited for the cell.
    if (op_storage_get_alarm(cell.handle) !== time) {
      settle(true);
      return;
    }
    cell.firing = true;
    if (typeof cell.instance.alarm !== "function") {
      op_report_uncaught(
        new TypeError(`${className} has no alarm() handler; the alarm that an earlier version has set is deleted.`),
        `alarm of ${className}`,
      );
      done();
      return;
    }
    let result;
    try {
      result = cell.instance.alarm({ isRetry: failures > 0, retryCount: failures, scheduledTime: time });
    } catch (error) {
      failed(error);
      return;
    }
    Promise.resolve(result).then(done, failed);
  }, fail);
}

/** What storage needs to know of the alarm of `cell`. */
function alarmHooks(cell) {
  return {
    isAlarmFiring: () => cell.firing,
    alarmReplaced() {
      cell.firing = false;
    },
    checkAlarmHandler() {
      if (cell.phase !== GONE && typeof cell.instance?.alarm !== "function" && !cell.hasAlarmHandler()) {
        throw new TypeError(
          "Your Durable Object class must have an alarm() handler in order to call setAlarm()",
        );
      }
    },
  };
}

export { alarmHooks, deliverAlarm };
