package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each class of the package can be understood after those that it uses. */
@Tag("host")
class TypeCyclesTest {
  private static final Pattern USE =
      Pattern.compile(
          "(?m)^\\s+dev\\.verbena\\.cm\\.(\\w+)\\S*\\s+->\\s+dev\\.verbena\\.cm\\.(\\w+)");

  @Test
  void onlyChannelIdentifierAndEventUseEachOther() throws Exception {
    Map<String, Set<String>> uses = uses();
    assertTrue(uses.size() > 15, uses::toString);
    Set<String> cyclic = new TreeSet<>();
    for (String type : uses.keySet()) {
      if (reachable(type, uses).contains(type)) {
        cyclic.add(type);
      }
    }
    assertEquals(Set.of("ConnectionEvent", "ConnectionId", "EventChannel"), cyclic);
  }

  private static Map<String, Set<String>> uses() throws Exception {
    Path library =
        Path.of(Connection.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter output = new StringWriter();
    PrintWriter out = new PrintWriter(output);
    ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
    jdeps.run(
        out,
        out,
        "-verbose:class",
        "-filter:none",
        "--ignore-missing-deps",
        "-include",
        "dev\\.verbena\\.cm\\..*",
        library.toString());
    Map<String, Set<String>> uses = new TreeMap<>();
    for (Matcher use = USE.matcher(output.toString()); use.find(); ) {
      String user = use.group(1);
      if (!user.equals(use.group(2))) {
        uses.computeIfAbsent(user, key -> new TreeSet<>()).add(use.group(2));
      }
    }
    return uses;
  }

  private static Set<String> reachable(String from, Map<String, Set<String>> uses) {
    Set<String> found = new TreeSet<>();
    TreeSet<String> open = new TreeSet<>(uses.getOrDefault(from, Set.of()));
    while (!open.isEmpty()) {
      String next = open.pollFirst();
      if (found.add(next)) {
        open.addAll(uses.getOrDefault(next, Set.of()));
      }
    }
    return found;
  }
}
