package dev.verbena.cm;

import java.lang.foreign.MemorySegment;

/** Answers the requests of a {@link RequestServer}. */
@FunctionalInterface
public interface RequestHandler {
  /**
   * Answers a request.
   *
   * @param request the bytes of the request, valid until this method returns
   * @param answer memory for the answer, of the maximum size of a message
   * @return the length of the answer in bytes
   * @throws Exception if the request cannot be answered: the client's call throws {@link
   *     RequestFailedException} with its message
   */
  int answer(MemorySegment request, MemorySegment answer) throws Exception;
}
