// What `compiled.txt` was made of: one thing of each kind that a compiler has to name.
//
//     g++ -std=c++20 -c compiled.cpp -o compiled.o
//     nm compiled.o | awk '$NF ~ /^_Z/ {print $NF}' | LC_ALL=C sort -u > mangled
//     paste mangled <(c++filt < mangled) > compiled.txt

namespace std {
template <class T> struct allocator { allocator() {} };
template <class T> struct initializer_list { const T *first; decltype(sizeof 0) length; };
using size_t = decltype(sizeof 0);
template <class T, T... I> struct integer_sequence {};
template <bool B, class T = void> struct enable_if { using type = T; };
template <class T> struct enable_if<false, T> {};
template <class A, class B> struct is_same { static const bool value = false; };
template <class A> struct is_same<A, A> { static const bool value = true; };
template <class T> T &&declval();
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T &> { using type = T; };
template <class T> T &&forward(typename remove_reference<T>::type &value) { return static_cast<T &&>(value); }
template <class... T> struct tuple { tuple(T... values) {} };
template <class A, class B> struct pair { A first; B second; };
template <class S> struct function;
template <class R, class... A> struct function<R(A...)> { function() {} R operator()(A... values) const; };
} // namespace std

namespace shapes {
enum class Colour { red, green };
struct Point { int x, y; Point(int x, int y); ~Point(); int length() const; int &at(int) &; int at(int) &&;
               int both() const &; int never() volatile; static int count; };
int Point::count = 0;
Point::Point(int x, int y) : x(x), y(y) {}
Point::~Point() {}
int Point::length() const { return x + y; }
int &Point::at(int) & { return x; }
int Point::at(int) && { return y; }
int Point::both() const & { return x; }
int Point::never() volatile { return x; }
namespace { int hidden(Point *) { return 1; } }
int shown(Point *point) { return hidden(point); }

struct Base { virtual ~Base(); virtual Base *clone(); virtual void draw(); int base; };
struct Second { virtual ~Second(); virtual void draw2(); int second; };
struct Derived : virtual Base, Second { ~Derived() override; Derived *clone() override; void draw() override;
                                        void draw2() override; };
Base::~Base() {} Base *Base::clone() { return this; } void Base::draw() {}
Second::~Second() {} void Second::draw2() {}
Derived::~Derived() {} Derived *Derived::clone() { return this; } void Derived::draw() {} void Derived::draw2() {}
} // namespace shapes

// operators
struct Number {
  int value;
  Number operator+(const Number &) const; Number operator-() const; Number &operator++(); Number operator++(int);
  bool operator<(const Number &) const; bool operator!() const; Number &operator+=(int); int operator()(int, int) const;
  int &operator[](int); Number *operator->(); int operator->*(int); operator bool() const; operator const char *() const;
  template <class T> operator T *() const { return nullptr; }
  void *operator new(std::size_t); void operator delete(void *); void *operator new[](std::size_t);
  void operator delete[](void *); int operator,(int); auto operator<=>(const Number &) const = default;
};
Number Number::operator+(const Number &) const { return *this; }
Number Number::operator-() const { return *this; }
Number &Number::operator++() { return *this; }
Number Number::operator++(int) { return *this; }
bool Number::operator<(const Number &) const { return false; }
bool Number::operator!() const { return false; }
Number &Number::operator+=(int) { return *this; }
int Number::operator()(int, int) const { return 0; }
int &Number::operator[](int) { return value; }
Number *Number::operator->() { return this; }
int Number::operator->*(int) { return 0; }
Number::operator bool() const { return true; }
Number::operator const char *() const { return ""; }
void *Number::operator new(std::size_t) { return nullptr; }
void Number::operator delete(void *) {}
void *Number::operator new[](std::size_t) { return nullptr; }
void Number::operator delete[](void *) {}
int Number::operator,(int) { return 0; }
long long operator""_km(unsigned long long value) { return value; }
template <class T> bool operator<(const Number &, const T *) { return false; }
template bool operator< <int>(const Number &, const int *);
double *pointer_of(const Number &number) { return number; }

// types
void builtins(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long) {}
void more(long long, unsigned long long, float, double, long double, wchar_t, char16_t, char32_t, char8_t, __int128,
          unsigned __int128, ...) {}
void functions(void (*)(int), int (*(*)(char))(double), void (*const *)(int), int (&)(void (*)())) {}
void arrays(int (*)[10], const int (&)[2][3], char *(*)[4], int (*(*)())[5]) {}
void members(int shapes::Point::*, int (shapes::Point::*)() const, int &(shapes::Point::*)(int) &,
             void (shapes::Base::*const *)()) {}
void qualified(const volatile int *, int *__restrict, const char *const *, shapes::Colour, shapes::Point &&) {}
void throws(void (*)(int) noexcept) {}
int vectors(int __attribute__((vector_size(16))) value) { return value[0]; }
void again(std::pair<shapes::Point *, shapes::Point *>, const std::pair<shapes::Point *, shapes::Point *> &) {}
void called(std::function<void()>, std::function<shapes::Colour(int, char *)>) {}
int variable_with_a_name = 0;
static int inside(int) { return 1; }
int uses_inside() { return inside(1); }
__attribute__((abi_tag("v2"))) int tagged() { return 0; }

// templates
template <class T> T largest(T a, T b) { return a; }
template int largest<int>(int, int);
template <class T, int N> int count(T (&)[N]) { return N; }
template int count<char, 5>(char (&)[5]);
template <class... T> int all(T &&...values) { return sizeof...(values); }
template int all<>(); template int all<int>(int &&); template int all<int &, const char *>(int &, const char *&&);
template <class... T> void tuples(std::tuple<T *...>, T (*...functions)(int)) {}
template void tuples<int, char>(std::tuple<int *, char *>, int (*)(int), char (*)(int));
template void tuples<>(std::tuple<>);
template <int... I> int sequence(std::integer_sequence<int, I...>) { return 0; }
template int sequence<0, 1, -2>(std::integer_sequence<int, 0, 1, -2>);
template <template <class> class C, class T> void wrapped(C<T>) {}
template void wrapped<std::allocator, int>(std::allocator<int>);
template <class T, class U> auto sum(T a, U b) -> decltype(a + b) { return a + b; }
template double sum<int, double>(int, double);
template <class T> typename std::enable_if<std::is_same<T, int>::value, T>::type only(T value) { return value; }
template int only<int>(int);
template <class T> void unless(T, typename std::enable_if<!std::is_same<T, char>::value>::type * = nullptr) {}
template void unless<int>(int, void *);
template <class F, class... A> auto call(F f, A &&...values) -> decltype(f(std::forward<A>(values)...)) {
  return f(std::forward<A>(values)...);
}
template int call<int (*)(int), int>(int (*)(int), int &&);
template <class T> auto size_of(T a) -> decltype(sizeof(T) + sizeof(a)) { return 0; }
template unsigned long size_of<int>(int);
template <class T> auto member_of(T a) -> decltype(a.x) { return a.x; }
template int member_of<shapes::Point>(shapes::Point);
template <class T> auto pointed(T *a) -> decltype(a->length()) { return 0; }
template int pointed<shapes::Point>(shapes::Point *);
template <class T> auto cast(T a) -> decltype(static_cast<long>(a)) { return 0; }
template long cast<int>(int);
template <class T> auto braced(T a) -> decltype(std::pair<T, T>{a, a}) { return {a, a}; }
template std::pair<int, int> braced<int>(int);
template <class T> auto chosen(T a) -> decltype(a ? a : -a) { return a; }
template int chosen<int>(int);
template <class... T> auto folded(T... a) -> decltype((a + ... + 1)) { return 1; }
template int folded<int, int>(int, int);
template <bool B> void flag() {}
template void flag<true>(); template void flag<false>();
template <char C> void letter() {}
template void letter<'a'>();
template <shapes::Colour C> void coloured() {}
template void coloured<shapes::Colour::green>();
template <int *P> void pointed_to() {}
template void pointed_to<&variable_with_a_name>();
template <int shapes::Point::*M> void of_member() {}
template void of_member<&shapes::Point::x>();
template <class T> struct Box {
  T value; Box(T value) : value(value) {} template <class U> Box(const Box<U> &) {} ~Box() {}
  template <class U> U as() const { return U(); } operator T() const { return value; }
  struct Inner { void work(T) {} template <class U> void more(U, T) {} }; static T shared;
};
template <class T> T Box<T>::shared;
template struct Box<int>; template char Box<int>::as<char>() const; template Box<int>::Box(const Box<char> &);
template void Box<int>::Inner::more<char>(char, int);
template <class T> T generic_variable = T();
template int generic_variable<int>;

// closures and local things
inline int local_things() {
  static int counter = 0;
  struct Local { int work() { static int inner = 0; return ++inner; } };
  auto plain = [](int a) { return a; };
  auto generic = [](auto a, auto *b) { return sizeof(a); };
  auto nested = [&] { return [&](char) { return counter; }; };
  char text = 0;
  return Local().work() + plain(1) + generic(1, &text) + nested()('a') + counter++;
}
int use_local_things() { return local_things(); }
template <class T> int in_template(T value) {
  auto closure = [value](T other) { return value + other; };
  return closure(value);
}
template int in_template<int>(int);
struct HasDefault { int value = [] { return 3; }(); int with(int a = [] { return 4; }()) { return a; } };
int use_defaults() { return HasDefault().with(); }
struct { int number() { return 1; } } unnamed;
int use_unnamed() { return unnamed.number(); }
struct Guarded { Guarded(); ~Guarded(); };
inline Guarded &guarded() { static Guarded object; return object; }
Guarded &use_guarded() { return guarded(); }
extern thread_local Guarded per_thread;
Guarded *use_per_thread() { return &per_thread; }
