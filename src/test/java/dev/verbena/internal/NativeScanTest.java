package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.internal.foreign.NativeAccess;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Restricted methods are called where a reader looks for them. */
@Tag("host")
class NativeScanTest {
  /** The line of a class: its name alone, with two spaces before it. */
  private static final Pattern CLASS = Pattern.compile("(?m)^ {2}([a-z.]+)\\.[^. ]+:$");

  @Test
  void onlyInternalAndRawAndTheLoopsInCOfQualifyCallRestrictedMethods() throws URISyntaxException {
    ToolProvider scan = ToolProvider.findFirst("jnativescan").orElse(null);
    assumeTrue(scan != null, "jnativescan comes with JDK 24");
    var library = NativeAccess.class.getProtectionDomain().getCodeSource().getLocation();
    StringWriter found = new StringWriter();
    PrintWriter out = new PrintWriter(found);
    int status = scan.run(out, out, "--class-path", Path.of(library.toURI()).toString());
    assertEquals(0, status, found::toString);
    Set<String> packages =
        CLASS
            .matcher(found.toString())
            .results()
            .map(line -> line.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    packages.remove("dev.verbena.raw"); // Allowed, and not on every class path of the tests.
    // The second one is not in the library's jar, but in that of the tools.
    assertEquals(
        Set.of("dev.verbena.internal", "dev.verbena.internal.foreign", "dev.verbena.tools.qualify"),
        packages,
        found::toString);
  }
}
