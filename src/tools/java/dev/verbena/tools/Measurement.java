package dev.verbena.tools;

import java.io.IOException;

/** What a measurement returns of a task, or of a connected end. */
interface Measurement<S, R> {
  R of(S subject) throws IOException, InterruptedException;
}
