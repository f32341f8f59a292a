package dev.verbena.s3;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import software.amazon.awssdk.http.SdkHttpHeaders;

/**
 * The calls in progress by a number, which a header carries from one hook of the SDK to those that
 * get nothing else: to the signer, which removes it, and to response transformers.
 */
final class Calls {
  static final String HEADER = "x-verbena-call";

  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final Map<String, Entry> ALL = new ConcurrentHashMap<>();

  /** Of calls that are not referred to any more: cancelled ones end without notice. */
  private static final ReferenceQueue<Transfer> GONE = new ReferenceQueue<>();

  private static final class Entry extends WeakReference<Transfer> {
    private final String number;

    Entry(String number, Transfer transfer) {
      super(transfer, GONE);
      this.number = number;
    }
  }

  private Calls() {}

  /** Adds a call, and returns the value of its header. */
  static String add(Transfer transfer) {
    for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
      ALL.remove(((Entry) gone).number);
    }
    String number = Long.toString(NUMBERS.incrementAndGet());
    ALL.put(number, new Entry(number, transfer));
    return number;
  }

  static Optional<Transfer> of(SdkHttpHeaders headers) {
    return headers.firstMatchingHeader(HEADER).map(ALL::get).map(WeakReference::get);
  }

  static void remove(String number) {
    ALL.remove(number);
  }

  static int size() {
    return ALL.size();
  }
}
