package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.ForkedJvm;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

/** A process without file descriptors opens no device over UDP, and is told why. */
class UdpDescriptorsTest {
  private static final int LIMIT = 256;

  @Test
  void aLackOfDescriptorsIsReportedAsSuch() {
    String output = new ForkedJvm().withNativeAccess().run(Opener.class).succeeded();
    assertTrue(output.contains("opened with"), output);
  }

  /** Opens a device with ever more descriptors. */
  static final class Opener {
    private static final int RLIMIT_NOFILE = 7;

    public static void main(String[] arguments) throws Throwable {
      InetSocketAddress local = UdpNetworkTest.at("127.0.0.2", UdpNetworkTest.freePort());
      try (SoftNetwork _ = SoftNetwork.overUdp(local)) {
        int _ = explain(() -> SoftNetwork.overUdp(local).close());
      }
      // Without descriptors the JVM can read no classes from a folder.
      Class<?> _ = Class.forName("dev.verbena.internal.ErrorConvention");
      limit();
      Deque<FileInputStream> all = new ArrayDeque<>();
      try {
        while (true) {
          all.push(new FileInputStream("/dev/null"));
        }
      } catch (IOException e) {
        // There are no more.
      }
      int errno = 0;
      for (int left = 0; left < LIMIT; left++) {
        errno = explain(() -> SoftNetwork.overUdp(local).close());
        if (errno == 0) {
          System.out.println("opened with " + left);
          return;
        }
        if (errno != Errno.EMFILE) {
          System.exit(1);
        }
        all.pop().close();
      }
    }

    private static int explain(Runnable opening) {
      try {
        opening.run();
        return 0;
      } catch (VerbsException e) {
        System.out.println(e.getMessage());
        return e.errno();
      }
    }

    private static void limit() throws Throwable {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment limit = arena.allocateFrom(ValueLayout.JAVA_LONG, LIMIT, LIMIT);
        int result =
            (int)
                Linker.nativeLinker()
                    .downcallHandle(
                        Linker.nativeLinker().defaultLookup().find("setrlimit").orElseThrow(),
                        FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS))
                    .invokeExact(RLIMIT_NOFILE, limit);
        if (result != 0) {
          throw new AssertionError("setrlimit");
        }
      }
    }
  }
}
