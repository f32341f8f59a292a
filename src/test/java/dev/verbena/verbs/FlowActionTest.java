package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.flow.EspTransform;
import dev.verbena.flow.FlowAction;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Frames;
import dev.verbena.testing.On;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Set;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.function.Executable;

/** Flow actions that decrypt ESP packets, which the JDK's AES has encrypted. */
@On(MLX5)
class FlowActionTest extends RawEndsFixture {
  private static final int INDEX = 0x1234_5678;
  private static final int SALT = 0x0a0b_0c0d;
  private static final int CHECK_BYTES = 16;
  private static final byte[] TEXT =
      "a text that is longer than two blocks".getBytes(StandardCharsets.US_ASCII);

  private static byte[] key(int length) {
    byte[] key = new byte[length];
    for (int i = 0; i < length; i++) {
      key[i] = (byte) (7 * i + 1);
    }
    return key;
  }

  private static EspTransform esp(byte[] key, EspTransform.Flag... flags) {
    return new EspTransform()
        .association(new EspTransform.Association(Set.of(flags), 0, 0, 0, 0))
        .key(new EspTransform.AesGcm(key, SALT, 0, CHECK_BYTES));
  }

  private FlowRule decrypt(FlowAction action) {
    return b.rule()
        .match(FlowMatch.esp().securityParametersIndex(INDEX))
        .action(action)
        .tag(7)
        .create();
  }

  /** A frame of IPv4 with ESP around data: SPI, sequence number, vector, data, check value. */
  private static byte[] frame(int index, int sequence, byte[] data) {
    byte[] frame = Arrays.copyOf(Frames.toPort(4000), 14 + 20 + 16 + data.length);
    return ByteBuffer.wrap(frame)
        .putShort(14 + 2, (short) (frame.length - 14))
        .put(14 + 9, (byte) 50)
        .putInt(34, index)
        .putInt(38, sequence)
        .putLong(42, 0x1122_3344_5566_7788L)
        .put(50, data)
        .array();
  }

  /** The frame of the encrypted text; the upper half of the sequence number is not in it. */
  private static byte[] encrypted(byte[] key, int sequence, Integer high) {
    try {
      byte[] nonce =
          ByteBuffer.allocate(12)
              .order(ByteOrder.nativeOrder())
              .putInt(SALT)
              .order(ByteOrder.BIG_ENDIAN)
              .putLong(0x1122_3344_5566_7788L)
              .array();
      ByteBuffer associated = ByteBuffer.allocate(high == null ? 8 : 12).putInt(INDEX);
      if (high != null) {
        associated.putInt(high);
      }
      Cipher aes = Cipher.getInstance("AES/GCM/NoPadding");
      aes.init(
          Cipher.ENCRYPT_MODE,
          new SecretKeySpec(key, "AES"),
          new GCMParameterSpec(8 * CHECK_BYTES, nonce));
      aes.updateAAD(associated.putInt(sequence).array());
      return frame(INDEX, sequence, aes.doFinal(TEXT));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** The headers and the check value are left to the program. */
  private static byte[] decrypted(byte[] frame) {
    return ByteBuffer.wrap(frame.clone()).put(50, TEXT).array();
  }

  @DeviceTest
  void packetsAreDecryptedIfTheyAreAuthentic() {
    for (int length : new int[] {16, 32}) {
      byte[] key = key(length);
      try (FlowAction action = FlowAction.on(b.context, esp(key));
          FlowRule rule = decrypt(action)) {
        assertTrue(rule.isOpen());
        b.receive(2);
        byte[] forged = encrypted(key, 1, null);
        forged[60]++;
        a.send(forged);
        a.send(frame(INDEX + 1, 2, TEXT));
        byte[] sent = encrypted(key, 3, null);
        a.send(sent);
        byte[] padded = Arrays.copyOf(encrypted(key, 4, null), 150);
        a.send(padded);
        var arrived = b.arrived(2);
        assertArrayEquals(decrypted(sent), arrived.getFirst().bytes());
        assertEquals(7, arrived.getFirst().flowTag());
        assertArrayEquals(decrypted(padded), arrived.getLast().bytes());
      }
    }
  }

  @DeviceTest
  void theUpperHalfOfTheSequenceNumberIsModified() {
    byte[] key = key(16);
    FlowAction action = FlowAction.on(b.context, esp(key).extendedSequence(5));
    decrypt(action);
    b.receive(2);
    byte[] before = encrypted(key, 1, 5);
    byte[] after = encrypted(key, 2, 6);
    a.send(after); // Not authentic yet.
    a.send(before);
    assertArrayEquals(decrypted(before), b.arrived(1).getFirst().bytes());
    action.modify(new EspTransform().extendedSequence(6));
    a.send(before); // Not authentic any more.
    a.send(after);
    assertArrayEquals(decrypted(after), b.arrived(1).getFirst().bytes());
  }

  private static void assertError(int errno, Executable call) {
    assertEquals(errno, assertThrows(VerbsException.class, call).errno());
  }

  @DeviceTest
  void onlyWhatTheDriverSupportsIsCreated() {
    byte[] key = key(16);
    FlowAction action = FlowAction.on(b.context, esp(key, EspTransform.Flag.ENCRYPT));
    assertError(Errno.EINVAL, () -> action.modify(new EspTransform().extendedSequence(1)));
    assertError(Errno.EOPNOTSUPP, () -> action.modify(esp(key)));
    assertError(
        Errno.EINVAL, b.rule().match(FlowMatch.ethernet().type(0x0800)).action(action)::create);
    for (EspTransform unsupported :
        new EspTransform[] {
          esp(key, EspTransform.Flag.FULL_OFFLOAD),
          esp(key(24)),
          esp(key).replayWindow(64),
          esp(key).encapsulation(FlowMatch.ipv4().source(1))
        }) {
      VerbsException refused =
          assertThrows(VerbsException.class, () -> FlowAction.on(b.context, unsupported));
      assertEquals(Errno.EOPNOTSUPP, refused.errno());
    }
    assertError(
        Errno.EINVAL,
        () ->
            FlowAction.on(
                b.context, esp(key).key(new EspTransform.AesGcm(key, SALT, 0, CHECK_BYTES - 1))));
    FlowRule rule = decrypt(action);
    assertError(
        Errno.EBUSY, () -> b.context.verbs().ibv_destroy_flow_action(action.segment().address()));
    action.close();
    assertFalse(rule.isOpen(), "closed before its action");
  }
}
