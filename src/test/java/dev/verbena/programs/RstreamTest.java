package dev.verbena.programs;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * A test of rstream or riostream: transfers in one direction, as many in the other, and both
 * repeated.
 *
 * @param name the name that is printed
 * @param size the bytes of a transfer
 * @param count the transfers in one direction
 * @param iterations the repetitions
 */
record RstreamTest(String name, int size, int count, int iterations) {
  private static final int MIN_EXPONENT = 6;
  private static final int MAX_EXPONENT = 22;

  private static final int KIB = 1 << 10;
  private static final int MIB = 1 << 20;
  private static final int GIB = 1 << 30;

  static List<RstreamTest> latency(boolean allSizes) {
    return sizes(allSizes).stream()
        .map(size -> new RstreamTest(bytes(size) + "_lat", size, 1, transfers(size)))
        .toList();
  }

  static List<RstreamTest> bandwidth(boolean allSizes) {
    return sizes(allSizes).stream()
        .map(size -> new RstreamTest(bytes(size) + "_bw", size, transfers(size), 1))
        .toList();
  }

  /** 64 B, 4 KiB, 64 KiB and 1 MiB; or the powers of two to 4 MiB, and those plus a half. */
  private static List<Integer> sizes(boolean all) {
    if (!all) {
      return List.of(1 << MIN_EXPONENT, 1 << 12, 1 << 16, 1 << 20);
    }
    List<Integer> sizes = new ArrayList<>();
    sizes.add(1 << MIN_EXPONENT);
    for (int i = MIN_EXPONENT + 1; i <= MAX_EXPONENT; i++) {
      sizes.add(1 << i);
      sizes.add((1 << i) + (1 << (i - 1)));
    }
    return sizes;
  }

  private static int transfers(int size) {
    if (size >= 1 << 20) {
      return 100;
    } else if (size >= 1 << 16) {
      return 1000;
    }
    return size >= 1 << 10 ? 10_000 : 100_000;
  }

  /** Runs the test, and prints its line. */
  void run(StreamTransfers transfers, boolean isClient, PrintWriter out) throws IOException {
    transfers.begin(size);
    transfers.synchronize(isClient);
    long start = System.nanoTime();
    for (int i = 0; i < iterations; i++) {
      transfer(transfers, isClient);
      transfer(transfers, !isClient);
    }
    double micros = (System.nanoTime() - start) / 1000.0;
    long total = 2L * iterations * count * size;
    out.printf(
        "%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%11.2f%n",
        name,
        bytes(size),
        number(count),
        number(iterations),
        bytes(total),
        micros / 1_000_000,
        total * 8 / (1000 * micros),
        micros / iterations / (count * 2));
    out.flush();
    transfers.end();
  }

  private void transfer(StreamTransfers transfers, boolean isSender) throws IOException {
    if (isSender) {
      transfers.send(size, count);
    } else {
      transfers.receive(size, count);
    }
  }

  private static String bytes(long size) {
    if (size >= GIB) {
      return bytes(size, GIB, 'g');
    } else if (size >= MIB) {
      return bytes(size, MIB, 'm');
    }
    return size >= KIB ? bytes(size, KIB, 'k') : Long.toString(size);
  }

  private static String bytes(long size, long base, char unit) {
    StringBuilder text = new StringBuilder().append(size / base);
    long fraction = size / base < 10 ? size % base * 10 / base : 0;
    if (fraction != 0) {
      text.append('.').append(fraction);
    }
    return text.append(unit).toString();
  }

  private static String number(long count) {
    if (count >= 1_000_000_000) {
      return count / 1_000_000_000 + "b";
    } else if (count >= 1_000_000) {
      return count / 1_000_000 + "m";
    }
    return count >= 1000 ? count / 1000 + "k" : Long.toString(count);
  }
}
