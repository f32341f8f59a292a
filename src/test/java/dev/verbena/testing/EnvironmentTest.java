package dev.verbena.testing;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Environment.EFA;
import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Environment.NIC;
import static dev.verbena.testing.Environment.NIC_DIRECT;
import static dev.verbena.testing.Environment.SOFT;
import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.C_QUEUES;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.TWO_HOSTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which environments a device test is left to. */
@Tag("host")
class EnvironmentTest {
  private final String divided = System.getProperty(Environment.DIVIDED);

  @AfterEach
  void restore() {
    divide(divided);
  }

  private static void divide(String environments) {
    if (environments == null) {
      System.clearProperty(Environment.DIVIDED);
    } else {
      System.setProperty(Environment.DIVIDED, environments);
    }
  }

  /** The environments that run a test of {@link Example}, but those that are run by hand. */
  private static List<Environment> of(String test) throws NoSuchMethodException {
    var method = Example.class.getDeclaredMethod(test);
    return Stream.of(SOFT, BOOKWORM, TRIXIE, FORKY, NIC, NIC_DIRECT, EFA)
        .filter(environment -> environment.leaves(Example.class, method).isEmpty())
        .toList();
  }

  private static List<Environment> guestsOf(String test) throws NoSuchMethodException {
    return of(test).stream().filter(Environment.GUESTS::contains).toList();
  }

  @Test
  void aTestWithoutNeedsRunsEverywhereButOnEfa() throws Exception {
    assertEquals(List.of(SOFT, BOOKWORM, TRIXIE, FORKY, NIC, NIC_DIRECT), of("anywhere"));
  }

  @Test
  void aTestIsLeftToTheEnvironmentsThatHaveWhatItNeeds() throws Exception {
    assertEquals(List.of(SOFT, BOOKWORM, TRIXIE, FORKY), of("connects"));
    assertEquals(List.of(FORKY), of("connectsTwoHosts"));
    assertEquals(
        Optional.of("needs RDMA CM"),
        NIC.leaves(Example.class, Example.class.getDeclaredMethod("connects")));
  }

  @Test
  void aTestRunsOnTheKindsOfDevicesThatItNames() throws Exception {
    assertEquals(List.of(SOFT, NIC, NIC_DIRECT), of("extended"));
    assertEquals(List.of(SOFT, EFA), of("datagrams"));
    assertEquals(
        Optional.of("only on [SOFTWARE, MLX5]: Soft-RoCE has no XRC"),
        TRIXIE.leaves(Example.class, Example.class.getDeclaredMethod("extended")));
  }

  @Test
  void theNeedsOfAMethodAreAddedToThoseOfItsClass() throws Exception {
    var method = OfDevice.class.getDeclaredMethod("resizes");
    assertEquals(Optional.empty(), NIC.leaves(OfDevice.class, method));
    for (Environment other : List.of(SOFT, TRIXIE, NIC_DIRECT, EFA)) {
      assertTrue(other.leaves(OfDevice.class, method).isPresent(), other.toString());
    }
  }

  @Test
  void aClassIsLeftIfAllItsTestsAre() {
    assertTrue(SOFT.leaves(OfDevice.class).isPresent());
    assertEquals(Optional.empty(), NIC_DIRECT.leaves(OfDevice.class), "runs polls");
    assertTrue(SOFT.leaves(Mixed.class).isPresent(), "its other test is for no device");
  }

  @Test
  void aTestThatIsForNoDeviceRunsAnywhere() throws Exception {
    var method = EnvironmentTest.class.getDeclaredMethod("aTestThatIsForNoDeviceRunsAnywhere");
    assertEquals(Optional.empty(), EFA.leaves(EnvironmentTest.class, method));
  }

  @Test
  void oneEnvironmentRunsATestForAll() throws Exception {
    divide("trixie,forky,bookworm");
    assertEquals(List.of(FORKY), guestsOf("once"));
    divide("trixie,bookworm");
    assertEquals(List.of(TRIXIE), guestsOf("once"), "the first, without the one that is named");
    divide(null);
    assertEquals(List.of(BOOKWORM, TRIXIE, FORKY), guestsOf("once"));
  }

  /** Needs nothing of its own. */
  @Tag("device")
  abstract static class Example {
    @Test
    void anywhere() {}

    @Needs(CM)
    @Test
    void connects() {}

    @Needs({CM, TWO_HOSTS, KERNEL})
    @Test
    void connectsTwoHosts() {}

    @On(
        value = {SOFTWARE, MLX5},
        reason = "Soft-RoCE has no XRC")
    @Test
    void extended() {}

    @On({SOFTWARE, DeviceKind.EFA})
    @Test
    void datagrams() {}

    @Once(value = FORKY, reason = "the same everywhere")
    @Test
    void once() {}
  }

  /** Needs a device of mlx5. */
  @DeviceTests
  @On(MLX5)
  abstract static class OfDevice {
    @Test
    void polls() {}

    @Needs(C_QUEUES)
    @Test
    void resizes() {}
  }

  /** A test for no device, and one that only some environments run. */
  abstract static class Mixed {
    @Test
    void runsAnywhere() {}

    @DeviceTest
    @Needs(KERNEL)
    void runsOnKernel() {}
  }
}
