package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every piece of Java in README.md and docs compiles. */
@Tag("host")
class SamplesTest {
  private static final Pattern BLOCK = Pattern.compile("(?s)```java\n(.*?)```");
  private static final Pattern CLASS = Pattern.compile("(?m)^public class (\\w+)");

  /** What a fragment may use without saying where it comes from; its own names come first. */
  private static final String FRAGMENT =
      """
      import dev.verbena.*;
      import dev.verbena.cm.*;
      import dev.verbena.packet.*;
      import dev.verbena.soft.*;
      import dev.verbena.verbs.*;
      import java.io.*;
      import java.lang.foreign.*;
      import java.net.*;
      import java.nio.*;
      import java.time.*;
      import java.util.*;
      import java.util.concurrent.*;

      class Fragment {
        static Arena arena;
        static Context context;
        static ProtectionDomain domain;
        static MemoryRegion region;
        static CompletionQueue queue;
        static Completions completions;
        static QueuePair queuePair;
        static QueuePairAddress remote;
        static SoftNetwork network;
        static SendList sends;
        static ReceiveList receives;
        static long peerAddress;
        static int peerKey;
        static int taken;
        static Socket socket;
        static DataOutputStream out;
        static DataInputStream in;

        static void fragment() throws Exception {
      // the sample
        }
      }
      """;

  @TempDir private static Path folder;

  @TestFactory
  Stream<DynamicTest> everySampleCompiles() throws IOException {
    List<DynamicTest> tests = new ArrayList<>();
    for (Path page : pages()) {
      Matcher block = BLOCK.matcher(Files.readString(page));
      for (int number = 1; block.find(); number++) {
        String sample = block.group(1);
        tests.add(
            DynamicTest.dynamicTest(
                page + " " + number, () -> assertEquals("", faultsOf(sample), sample)));
      }
    }
    assertTrue(tests.size() > 10, "samples found");
    return tests.stream();
  }

  @Test
  void aSampleWithAMistakeIsFound() throws IOException {
    assertFalse(faultsOf("queuePair.frobnicate();").isEmpty());
  }

  private static List<Path> pages() throws IOException {
    try (Stream<Path> docs = Files.walk(Path.of("docs"))) {
      return Stream.concat(Stream.of(Path.of("README.md")), docs)
          .filter(file -> file.toString().endsWith(".md"))
          .sorted()
          .toList();
    }
  }

  private static String faultsOf(String sample) throws IOException {
    Matcher name = CLASS.matcher(sample);
    boolean whole = name.find();
    Path source = folder.resolve((whole ? name.group(1) : "Fragment") + ".java");
    Files.writeString(source, whole ? sample : FRAGMENT.replace("// the sample", sample));
    StringWriter messages = new StringWriter();
    PrintWriter out = new PrintWriter(messages);
    int status =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(
                out,
                out,
                "-proc:none",
                "-d",
                folder.toString(),
                "-cp",
                library().toString(),
                source.toString());
    return status == 0 ? "" : messages.toString();
  }

  private static Path library() {
    try {
      return Path.of(Verbena.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new UncheckedIOException(new IOException(e));
    }
  }
}
