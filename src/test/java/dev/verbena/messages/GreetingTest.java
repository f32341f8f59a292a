package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The private data by which two connections agree on a message size. */
class GreetingTest {
  private static final byte[] DATA = {1, 0, 2, 0, 0};

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 43, 183})
  void paddingOfTheTransportIsRemoved(int padding) {
    byte[] sent = Greeting.of(DATA, 4096);
    Greeting received = Greeting.read(Arrays.copyOf(sent, sent.length + padding));
    assertArrayEquals(DATA, received.privateData(), "trailing zeros are the user's");
    assertEquals(OptionalInt.of(4096), received.messageSize());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 256, 0x0100_0000, Integer.MAX_VALUE})
  void everyMessageSizeIsDecoded(int size) {
    Greeting received = Greeting.read(Greeting.of(new byte[0], size));
    assertEquals(OptionalInt.of(size), received.messageSize());
    assertEquals(0, received.privateData().length);
  }

  @Test
  void userDataIsFirst() {
    byte[] sent = Greeting.of(DATA, 1);
    assertArrayEquals(DATA, Arrays.copyOf(sent, DATA.length));
    assertEquals(DATA.length + Greeting.SIZE, sent.length);
  }

  @Test
  void privateDataOfOtherProgramsIsUnchanged() {
    for (byte[] other : new byte[][] {{}, new byte[56], {1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
      Greeting received = Greeting.read(other);
      assertArrayEquals(other, received.privateData());
      assertEquals(OptionalInt.empty(), received.messageSize());
    }
  }

  @Test
  void nonPositiveMessageSizeIsIgnored() {
    byte[] forged = Greeting.of(DATA, -5);
    assertEquals(OptionalInt.empty(), Greeting.read(forged).messageSize());
  }
}
