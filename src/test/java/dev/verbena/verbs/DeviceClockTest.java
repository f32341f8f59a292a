package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceClock;
import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_values_ex;
import dev.verbena.soft.SoftNetwork;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeviceClockTest {
  @ParameterizedTest
  @CsvSource({
    "1000000, 0, 5, 5",
    "156250, 0, 156250, 1000000",
    "156250, 10, 11, 6",
    "1, 0, 3, 3000000",
    "156250, 281474976710650, 4, 64", // 2^48 - 6: the clock started again.
    "3000000, 0, 281474976710655, 93824992236885",
  })
  void ticksBecomeNanoseconds(long kilohertz, long earlier, long later, long nanos) {
    DeviceClock clock = new DeviceClock(kilohertz, (1L << 48) - 1);
    assertEquals(nanos, clock.nanosBetween(earlier, later));
  }

  @Test
  void aLongClockDoesNotOverflow() {
    DeviceClock clock = new DeviceClock(1000, -1);
    assertEquals(Long.MAX_VALUE, clock.nanosBetween(0, -1));
    assertEquals(2000, clock.nanosBetween(-1, 1));
    assertEquals(Duration.ofNanos(Long.MAX_VALUE), clock.period());
    assertEquals(Duration.ofMillis(256), new DeviceClock(1, 0xff).period().plusMillis(1));
  }

  @Test
  void theClockOfADeviceIsNotNanoseconds() {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("soft0").open()) {
      network.clock("soft0", 156_250, 48);
      DeviceClock clock = context.clock();
      assertEquals(156_250, clock.kilohertz());
      assertEquals((1L << 48) - 1, clock.mask());
      long before = System.nanoTime();
      long first = context.rawClock();
      long last = context.rawClock();
      long elapsed = System.nanoTime() - before;
      long measured = clock.nanosBetween(first, last);
      assertTrue(measured <= elapsed + 7, measured + " ns, not " + elapsed); // A tick has 6.4 ns.
      assertTrue(first <= clock.mask(), "the clock has 48 bits");
    }
  }

  @Test
  void aClockThatTheProviderDoesNotMarkAsQueriedThrows() {
    try (FakeProvider provider = new FakeProvider().play(new WithoutClock());
        Context context = Device.list(provider).getFirst().open()) {
      VerbsException none = assertThrows(VerbsException.class, context::rawClock);
      assertTrue(none.isUnsupported(), none.getMessage());
    }
  }

  /** A provider that has none of the values that it is asked for. */
  private static final class WithoutClock {
    @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
    public int query_rt_values(long context, long values) {
      ibv_values_ex.comp_mask(Memory.at(values, ibv_values_ex.sizeof()), 0);
      return 0;
    }
  }

  @Test
  void badClocksAreRefused() {
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0");
      assertThrows(IllegalArgumentException.class, () -> network.clock("soft0", 0, 64));
      assertThrows(IllegalArgumentException.class, () -> network.clock("soft0", 1, 65));
      assertThrows(IllegalArgumentException.class, () -> network.clock("soft7", 1, 64));
    }
  }
}
