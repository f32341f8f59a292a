package dev.verbena.soak;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Once;
import org.opentest4j.TestAbortedException;

/** Many rounds of each kind of object; {@link Soak} makes more of them. */
@Needs(CM)
@On(value = SOFT_ROCE, reason = "the objects of the kernel are counted, too")
@Once(value = BOOKWORM, reason = "what Java code forgets to release")
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
