package dev.verbena.soak;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import org.opentest4j.TestAbortedException;

/** Many rounds of each kind of object; {@link Soak} makes more of them. */
class SoakTest {
  private static final String ROUNDS = "20";
  private static final String CONNECTIONS = "10";

  @DeviceTest
  void nothingGrows() {
    String output =
        new ForkedJvm()
            .with(
                "-Xms64m",
                "-Xmx64m",
                "-XX:+AlwaysPreTouch",
                "-XX:TieredStopAtLevel=1",
                "-XX:MaxDirectMemorySize=8m")
            .withNativeAccess()
            .withJarOf(TestAbortedException.class)
            .run(Soak.class, ROUNDS, CONNECTIONS)
            .succeeded();
    System.out.print(output);
  }
}
