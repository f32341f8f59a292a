package dev.verbena.docs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.Need.C_QUEUES;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.Environment;
import dev.verbena.testing.Needs;
import dev.verbena.testing.NeedsDevice;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * The tests that {@code untraced.tsv} names fail without the function of their row. Each runs with
 * the Java method that calls the function changed: on software devices, and if no guest runs it, on
 * the emulated NIC too.
 */
@Tag("device")
@ExtendWith(NeedsDevice.class)
@On(
    value = {SOFTWARE, MLX5},
    reason = "changes the library once for each function")
@Needs(C_QUEUES)
@Tag("slow")
class UntracedTest {
  private static final String FIELDS = "ibv_wc_read_";

  /** Returns nothing: it fills a structure. */
  private static final String OF_A_STRUCTURE = "ibv_wc_read_tm_info";

  @TestFactory
  Stream<DynamicTest> namedTestsPassWithAllFunctions() throws IOException {
    return called().stream()
        .map(UntracedFunction::test)
        .distinct()
        .map(
            test ->
                DynamicTest.dynamicTest(
                    test,
                    () -> {
                      try (Mutant unchanged = Mutant.unchanged()) {
                        unchanged.run(test);
                      }
                    }));
  }

  @TestFactory
  Stream<DynamicTest> namedTestFailsIfTheFunctionThrows(@TempDir Path folder) throws IOException {
    return called().stream()
        .map(
            function ->
                DynamicTest.dynamicTest(
                    function.name(),
                    () ->
                        assertFails(
                            Mutant.thatThrows(function.method(), folder.resolve(function.name())),
                            function.test())));
  }

  @TestFactory
  Stream<DynamicTest> namedTestFailsIfTheFieldIsWrong(@TempDir Path folder) throws IOException {
    return called().stream()
        .filter(function -> function.name().startsWith(FIELDS))
        .filter(function -> !function.name().equals(OF_A_STRUCTURE))
        .map(
            function ->
                DynamicTest.dynamicTest(
                    function.name(),
                    () ->
                        assertFails(
                            Mutant.thatReturnsWrongValue(
                                function.method(), folder.resolve(function.name())),
                            function.test())));
  }

  private static List<UntracedFunction> called() throws IOException {
    Environment here = Environment.current();
    return UntracedFunction.all().stream()
        .filter(function -> !function.isInJava() && function.runsOn(here))
        .filter(function -> Rig.isSoftware() || !function.runsInAGuest())
        .toList();
  }

  private static void assertFails(Mutant mutant, String test) throws IOException {
    try (mutant) {
      var failure = assertThrows(InvocationTargetException.class, () -> mutant.run(test), test);
      assertFalse(failure.getCause() instanceof TestAbortedException, () -> test + " is skipped");
    }
  }
}
