package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ExportedPackages;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The objects of the public API have strings that say which one it is. */
@Tag("host")
class ObjectTextsTest {
  /**
   * What a program creates, configures and forgets in one expression: builders by other names, and
   * the headers of a flow rule.
   */
  private static final Set<String> BUILDERS =
      Set.of(
          "Esp",
          "EspTransform",
          "Ethernet",
          "Gre",
          "Ipv4",
          "Ipv6",
          "MemoryAllocation",
          "MemoryRegistration",
          "Mpls",
          "Ports",
          "QueuePairSetup",
          "Reregistration",
          "Vxlan");

  /** There is one of each in a JVM, without a state. */
  private static final Set<String> SINGLE =
      Set.of("HybridSelectorProvider", "RdmaSelectorProvider");

  @Test
  void noObjectHasTheStringOfObject() throws Exception {
    List<Class<?>> classes =
        ExportedPackages.publicClasses().stream().filter(ObjectTextsTest::hasObjects).toList();
    assertTrue(classes.size() > 100, () -> classes.size() + " classes");
    List<String> without =
        classes.stream()
            .filter(ObjectTextsTest::inheritsTheString)
            .map(Class::getSimpleName)
            .filter(name -> !name.endsWith("Builder"))
            .filter(name -> !BUILDERS.contains(name) && !SINGLE.contains(name))
            .toList();
    assertEquals(List.of(), without);
  }

  /** The test above sees a class whose string is that of Object. */
  @Test
  void theStringOfObjectIsFound() {
    assertTrue(inheritsTheString(Object.class));
  }

  @Test
  void everyExceptionIsNeeded() throws Exception {
    List<String> without =
        ExportedPackages.publicClasses().stream()
            .filter(ObjectTextsTest::hasObjects)
            .filter(ObjectTextsTest::inheritsTheString)
            .map(Class::getSimpleName)
            .toList();
    assertTrue(without.containsAll(BUILDERS) && without.containsAll(SINGLE), without::toString);
  }

  /** Not an interface, a parent, or a class of static methods. */
  private static boolean hasObjects(Class<?> type) {
    return !Modifier.isAbstract(type.getModifiers())
        && !Arrays.stream(type.getDeclaredMethods())
            .filter(method -> Modifier.isPublic(method.getModifiers()))
            .allMatch(method -> Modifier.isStatic(method.getModifiers()));
  }

  private static boolean inheritsTheString(Class<?> type) {
    try {
      return type.getMethod("toString").getDeclaringClass() == Object.class;
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }
}
