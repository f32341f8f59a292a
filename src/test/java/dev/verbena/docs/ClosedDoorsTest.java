package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.verbs.Resource;
import java.io.StringWriter;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Members that exist only for other packages of this library are not public. */
@Tag("host")
class ClosedDoorsTest {
  @Test
  void resourceHasNoConstructorForOtherPackages() {
    assertTrue(
        Stream.of(Resource.class.getDeclaredConstructors())
            .noneMatch(c -> (c.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0));
  }

  @Test
  void aSubclassOfResourceInAnotherPackageDoesNotCompile(@TempDir Path classes) throws Exception {
    assertEquals("", compile(classes, "class User { dev.verbena.verbs.Resource resource; }"));
    String errors =
        compile(
            classes,
            "class Mine extends dev.verbena.verbs.Resource { Mine() { super(0, () -> {}); } }");
    assertTrue(errors.contains("Resource(long,Runnable) is not public"), errors);
  }

  private static String compile(Path classes, String source) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    Path library =
        Path.of(Resource.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter errors = new StringWriter();
    List<String> options =
        List.of("-proc:none", "-cp", library.toString(), "-d", classes.toString());
    compiler.getTask(errors, null, null, options, null, List.of(file)).call();
    return errors.toString();
  }

  @Test
  void noPublicMemberIsForSubclassesOrNamesInternalTypes() throws Exception {
    // ServiceLoader requires that a provider is public: DescribedDevices.
    String listing =
        Files.readString(Path.of("src/build/public-api.txt"))
            .replaceFirst(
                "(?s)public final class dev.verbena.soft.DescribedDevices .*?\\n}\\n", "");
    assertFalse(listing.contains("dev.verbena.internal."), "an internal type");
    List<String> hooks =
        listing
            .lines()
            .filter(line -> line.startsWith("  protected ") && !line.contains("RdmaException("))
            .toList();
    assertEquals(List.of(), hooks);
  }
}
