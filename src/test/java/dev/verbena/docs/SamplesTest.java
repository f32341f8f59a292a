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

/** Java code of README.md and docs compiles, or is quoted from a file of examples. */
@Tag("host")
class SamplesTest {
  /** A block, and the file that it quotes. */
  private static final Pattern BLOCK =
      Pattern.compile("(?s)(?:<!-- (examples/[\\w/]+\\.java) -->\n)?```java\n(.*?)```");

  private static final Pattern CLASS = Pattern.compile("(?m)^public class (\\w+)");

  /** The variables that a fragment may use without declaring them. It may hide them. */
  private static final String FRAGMENT =
      """
      import dev.verbena.*;
      import dev.verbena.address.*;
      import dev.verbena.attributes.*;
      import dev.verbena.cm.*;
      import dev.verbena.messages.*;
      import dev.verbena.efa.*;
      import dev.verbena.flow.*;
      import dev.verbena.mlx5.*;
      import dev.verbena.packet.*;
      import dev.verbena.soft.*;
      import dev.verbena.util.*;
      import dev.verbena.values.*;
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
        static int posted;
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
  Stream<DynamicTest> everySampleCompilesOrIsAQuotation() throws IOException {
    List<DynamicTest> tests = new ArrayList<>();
    for (Path page : pages()) {
      Matcher block = BLOCK.matcher(Files.readString(page));
      for (int number = 1; block.find(); number++) {
        String quoted = block.group(1);
        String sample = block.group(2);
        tests.add(
            DynamicTest.dynamicTest(
                page + " " + number,
                () -> {
                  if (quoted == null) {
                    assertEquals("", faultsOf(sample), sample);
                  } else {
                    assertTrue(quotes(sample, Path.of(quoted)), () -> quoted + ":\n" + sample);
                  }
                }));
      }
    }
    assertTrue(tests.size() > 10, "samples found");
    return tests.stream();
  }

  @Test
  void aSampleWithAMistakeIsFound() throws IOException {
    assertFalse(faultsOf("queuePair.frobnicate();").isEmpty());
  }

  @Test
  void aQuotationThatDiffersIsFound() throws IOException {
    Path example = Path.of("examples/RcWrite.java");
    assertTrue(quotes("client.connect(server.localAddress());", example));
    assertFalse(quotes("client.connect(client.localAddress());", example));
  }

  /** Whether lines are consecutive in a file, at any indentation and however they are wrapped. */
  private static boolean quotes(String lines, Path file) throws IOException {
    return withoutSpace(Files.readString(file)).contains(withoutSpace(lines));
  }

  private static String withoutSpace(String code) {
    return code.replaceAll("\\s+", " ").strip();
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
