package dev.verbena.disni;

import com.ibm.disni.verbs.IbvSge;
import java.io.IOException;
import java.util.List;

/** What lists of send and receive requests have in common. */
final class Sges {
  private Sges() {}

  static void requireRequests(List<?> requests) throws IOException {
    if (requests == null || requests.isEmpty()) {
      throw new IOException("a list of work requests must not be empty: " + requests);
    }
    int number = 0;
    for (Object request : requests) {
      if (request == null) {
        throw new IOException("a work request is null: number " + number);
      }
      number++;
    }
  }

  /** Returns the number of SGEs of a request, after comparing it with their list. */
  static int count(List<IbvSge> sges, int count) throws IOException {
    int listed = sges == null ? 0 : sges.size();
    if (count < 0 || count > listed) {
      throw new IOException("a work request has " + listed + " SGEs, and says " + count);
    }
    return count;
  }

  static int index(int index, int requests) throws IOException {
    if (index < 0 || index >= requests) {
      throw new IOException("no work request " + index + ": the list has " + requests);
    }
    return index;
  }

  /** Passes the failed request to the program, as {@code bad_wr}. */
  static <T> void report(List<T> requests, List<T> failed, int bad) {
    if (failed != null && bad >= 0) {
      failed.add(requests.get(bad));
    }
  }

  static IOException full(String what, int posted, int requests) {
    return new IOException(
        "the "
            + what
            + " queue is full (ENOMEM): "
            + posted
            + " of "
            + requests
            + " requests were posted; poll completions before posting more, or create the queue"
            + " pair with a greater max_"
            + (what.equals("send") ? "send" : "recv")
            + "_wr");
  }
}
