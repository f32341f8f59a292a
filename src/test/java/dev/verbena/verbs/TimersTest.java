package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.values.AckTimeout;
import dev.verbena.values.RnrTimer;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The codes of the InfiniBand specification for timeouts, and their durations. */
@Tag("host")
class TimersTest {
  @ParameterizedTest
  @CsvSource({"8192, 1", "8193, 2", "1, 1", "67108864, 14", "67108865, 15", "8796093022208, 31"})
  void anAckTimeoutIsTheShortestThatIsLongEnough(long nanos, int code) {
    assertEquals(code, AckTimeout.atLeast(Duration.ofNanos(nanos)).code());
  }

  @Test
  void everyAckTimeoutIsFoundByItsDuration() {
    for (int code = 1; code < 32; code++) {
      AckTimeout timeout = AckTimeout.ofCode(code);
      assertEquals(timeout, AckTimeout.atLeast(timeout.toDuration()));
    }
  }

  @Test
  void anInfiniteAckTimeoutHasNoDuration() {
    assertEquals(AckTimeout.INFINITE, AckTimeout.ofCode(0));
    assertThrows(IllegalStateException.class, AckTimeout.INFINITE::toDuration);
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "10000, 1", "10001, 2", "640000, 12", "491520000, 31", "491520001, 0"})
  void anRnrTimerIsTheShortestThatIsLongEnough(long nanos, int code) {
    assertEquals(code, RnrTimer.atLeast(Duration.ofNanos(nanos)).code());
  }

  @Test
  void everyRnrTimerIsFoundByItsDuration() {
    for (int code = 0; code < 32; code++) {
      RnrTimer timer = RnrTimer.ofCode(code);
      assertEquals(timer, RnrTimer.atLeast(timer.toDuration()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT3H", "PT2562047788015215H30M7.999999999S"})
  void invalidDurationsThrow(Duration duration) {
    assertThrows(IllegalArgumentException.class, () -> AckTimeout.atLeast(duration));
    assertThrows(IllegalArgumentException.class, () -> RnrTimer.atLeast(duration));
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 32, Integer.MIN_VALUE})
  void invalidCodesThrow(int code) {
    assertThrows(IllegalArgumentException.class, () -> AckTimeout.ofCode(code));
    assertThrows(IllegalArgumentException.class, () -> RnrTimer.ofCode(code));
  }
}
