package dev.verbena.messages;

import java.lang.foreign.MemorySegment;

/** Answers requests by bytes that it writes to the memory for them. */
@FunctionalInterface
public interface Answering {
  /** Returns the length of the answer. */
  int answer(MemorySegment request, MemorySegment answer) throws Exception;

  /** Returns a handler of a server. */
  static RequestServer.Handler by(Answering answering) {
    return request -> request.answer(answering.answer(request.bytes(), request.answer()));
  }
}
